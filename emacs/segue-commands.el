;;; segue-commands.el --- The keys of Segue, and where each command is  -*- lexical-binding: t; -*-

;; Author: The Segue authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; With `segue-mode' on, the prefix is C-c ;.  To have another one:
;;
;;     (define-key segue-mode-map (kbd "C-c s") segue-command-map)
;;
;; All other files are loaded when they are needed.

;;; Code:

(require 'segue-files)

(autoload 'segue-list "segue-list" "List all sessions." t)
(autoload 'segue-find "segue-list" "Visit a session, found by its title or its text." t)
(autoload 'segue-search "segue-list" "List the sessions whose text contains some words." t)
(autoload 'segue-rename "segue-list" "Change the title of a session." t)
(autoload 'segue-delete "segue-list" "Move a session to the trash." t)
(autoload 'segue-tree "segue-tree" "Show the branches of a session as a tree." t)
(autoload 'segue-rename-branch "segue-tree" "Rename a branch of a session." t)
(autoload 'segue-delete-branch "segue-tree" "Delete a branch of a session." t)
(autoload 'segue-toggle-footer "segue-view" "Show or hide the footer of this session." t)
(autoload 'segue-allow "segue-tools" "Allow the tools of this session something." t)
(autoload 'segue-tool-log "segue-tools" "Visit the log of the tool calls of this session." t)
(autoload 'activities-ext-create "segue-activities" "Create an activity with a session and visit it." t)
(autoload 'segue-read-preset "segue-list")
(autoload 'segue-view-setup "segue-view")
(autoload 'segue-tools-setup "segue-tools")
(autoload 'segue-times-setup "segue-times")

(defcustom segue-activities-directory "~/emacs-activities/"
  "The folder in which `activities-ext-create' makes activities."
  :type 'directory
  :group 'segue)

(defvar segue-command-map
  (let ((map (make-sparse-keymap)))
    (define-key map "l" #'segue-list)
    (define-key map "f" #'segue-find)
    (define-key map "s" #'segue-search)
    (define-key map "n" #'jf/gptel-persistent-session)
    (define-key map "a" #'activities-ext-create)
    (define-key map "r" #'segue-rename)
    (define-key map "d" #'segue-delete)
    (define-key map "t" #'segue-tree)
    (define-key map "b" #'segue-branch)
    (define-key map "w" #'segue-switch-branch)
    (define-key map "R" #'segue-rename-branch)
    (define-key map "D" #'segue-delete-branch)
    (define-key map "h" #'segue-toggle-footer)
    (define-key map "o" #'segue-tool-log)
    (define-key map "+" #'segue-allow)
    (define-key map "!" #'segue-recover)
    map)
  "The commands of Segue, after its prefix.")

(defvar segue-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c ;") segue-command-map)
    map)
  "The keys of `segue-mode': only the prefix of `segue-command-map'.")

(defvar segue-session-functions '(segue-tools-setup segue-times-setup segue-view-setup)
  "Functions to call in the buffer of a session when it was visited or reverted.
The argument is what the command reports about the session, as a plist.")

(defvar-local segue--title nil "The title of the session of this buffer, as it was last read.")

(defun segue--opened (answer)
  "Call `segue-session-functions' with ANSWER; one that fails stops no other."
  (setq segue--title (or (plist-get answer :title) segue--title))
  (dolist (function segue-session-functions)
    (condition-case problem
        (funcall function answer)
      (error (segue--warn "%s: %s" function (error-message-string problem))))))

;;;; Text of others

(defun segue-shown (text)
  "Return TEXT as one line for a list, a name or a prompt, without properties.
Characters that could act, or reorder what is beside them, are replaced."
  (string-trim (mapconcat #'segue--shown-character (substring-no-properties (or text "")) "")))

(defun segue--shown-character (character)
  "Return CHARACTER, or what is shown in its place, as a string."
  (cond
   ((memq character '(?\n ?\t ?\r ?\f ?\v)) " ")
   ((< character 32) (string (+ #x2400 character)))
   ((= character 127) "␡")
   ((memq character '(#x200c #x200d)) (string character)) ; in emoji and in some scripts
   ((or (> character #x10ffff) (memq (get-char-code-property character 'general-category) '(Cc Cf Cs Zl Zp)))
    "�")
   (t (string character))))

(provide 'segue-commands)
;;; segue-commands.el ends here
