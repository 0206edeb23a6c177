;;; segue-view.el --- The buffer of a session: its name, and its footer hidden  -*- lexical-binding: t; -*-

;; Author: The Segue authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A buffer is named after the title of its session, and follows it.  The footer is
;; hidden by an overlay over its own lines and nothing else: what is typed before,
;; after or between them is never inside of it.  Point stays out of it, and commands
;; that would delete a part of it fail.

;;; Code:

(require 'subr-x)
(require 'segue-commands)
(require 'segue-footer)

(defvar jf/gptel--branch-name)
(defvar jf/gptel--session-id)

(defcustom segue-hide-footer t
  "Whether the footer of a session is hidden when it is visited."
  :type 'boolean
  :group 'segue)

(defconst segue-view--name-limit 60 "The longest title in the name of a buffer.")

(defvar-local segue-view--overlay nil "The overlay that hides the footer, or nil.")
(defvar-local segue-view--is-hiding 'unset "Whether the footer is hidden, `unset' at first.")

;;;###autoload
(defun segue-view-setup (_answer)
  "Name this buffer after the title of its session, and hide the footer."
  (when (eq segue-view--is-hiding 'unset) (setq segue-view--is-hiding segue-hide-footer))
  (segue-view--rename segue--title)
  (add-hook 'after-save-hook #'segue-view-refresh nil t)
  (add-hook 'gptel-pre-response-hook #'segue-view-refresh 95 t)
  (add-hook 'post-command-hook #'segue-view--keep-out nil t)
  (add-to-invisibility-spec 'segue-footer)
  (segue-view-refresh))

;;;; The name of the buffer

(defun segue-view--rename (title)
  "Rename this buffer after TITLE, or after the id of the session without one."
  (let ((name (segue-view-name title jf/gptel--session-id jf/gptel--branch-name)))
    (unless (string-match-p (format "\\`%s\\(?:<[0-9]+>\\)?\\'" (regexp-quote name)) (buffer-name))
      (rename-buffer (generate-new-buffer-name name)))))

(defun segue-view-name (title id branch)
  "Return the name of the buffer of BRANCH of the session ID with TITLE.
The time in front of the name of a branch is left out.  Names with an asterisk
or a space in front are those of special buffers."
  (let* ((plain (lambda (text) (string-trim-left (segue-shown text) "[* ]+")))
         (named (funcall plain title))
         (name (if (string-empty-p named) (funcall plain id) named)))
    (concat (truncate-string-to-width name segue-view--name-limit nil nil "…")
            (unless (equal branch "main")
              (format " [%s]" (replace-regexp-in-string "\\`[0-9]\\{14\\}-\\(.\\)" "\\1" (segue-shown branch)))))))

;;;; The footer

(defun segue-view-refresh (&rest _)
  "Hide the footer of this buffer where it is now, if it is to be hidden."
  (save-restriction
    (widen)
    (remove-overlays (point-min) (point-max) 'invisible 'segue-footer)) ; also one from before a change of modes
  (setq segue-view--overlay nil)
  (when-let ((place (and (eq segue-view--is-hiding t) (segue-view--footer))))
    (let ((overlay (make-overlay (car place) (cdr place) nil t nil)))
      (overlay-put overlay 'invisible 'segue-footer)
      (overlay-put overlay 'modification-hooks '(segue-view--protect))
      (setq segue-view--overlay overlay))))

(defun segue-view--footer ()
  "Return where the lines of the footer begin and end, or nil.
The first line that is not part of it, such as one that was typed, ends it."
  (save-restriction
    (widen)
    (let* ((start (segue-footer-start)) (end start) (is-over nil))
      (when start
        (segue-footer--walk
         start
         (lambda (line)
           (if (or is-over (not line))
               (setq is-over t)
             (setq end (min (point-max) (1+ (line-end-position)))))
           nil))
        (and (> end start) (cons start end))))))

(defun segue-view--protect (_overlay is-after &rest _)
  "Do not let a command change the hidden footer; IS-AFTER means that it has."
  (unless (or is-after inhibit-read-only undo-in-progress)
    (signal 'text-read-only '("the footer is hidden; `segue-toggle-footer' shows it"))))

(defun segue-view--keep-out ()
  "Move point out of the hidden footer, to the end of the text."
  (when-let ((start (and segue-view--overlay (overlay-start segue-view--overlay))))
    (when (and (<= start (point) (overlay-end segue-view--overlay)) (< start (overlay-end segue-view--overlay)))
      (goto-char start)
      (when (eq (char-before) ?\n) (forward-char -1)))))

;;;###autoload
(defun segue-toggle-footer ()
  "Show or hide the footer of this session."
  (interactive)
  (unless jf/gptel--session-id (user-error "This buffer is not a session"))
  (setq segue-view--is-hiding (not segue-view--overlay))
  (segue-view-refresh)
  (message (if segue-view--overlay "The footer is hidden" "The footer is shown")))

(provide 'segue-view)
;;; segue-view.el ends here
