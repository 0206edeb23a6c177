;;; segue.el --- Sessions of AI agents as files that you edit  -*- lexical-binding: t; -*-

;; Author: The Segue authors
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: convenience, files, tools
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A session is a folder with one folder per branch.  Each branch has a session.md
;; with the conversation and a footer: the preset, and the settings that differ.
;;
;;     (require 'segue)
;;     (segue-mode 1)
;;
;; With `segue-mode' on, visiting a session.md makes its buffer a session.
;; `jf/gptel-persistent-session' starts one, `segue-branch' starts a branch at the
;; question at point, and `segue-switch-branch' switches to another branch.
;;
;; With gptel, continue the conversation with `gptel-send'.  Without it, everything
;; else works, and gptel's variables are also set in the buffer.

;;; Code:

(require 'cl-lib)
(require 'json)
(require 'seq)
(require 'subr-x)
(require 'segue-commands)
(require 'segue-files)
(require 'segue-footer)
(require 'segue-gptel)

(defvar gptel--bounds)
(defvar segue-mode)

(defgroup segue nil
  "Sessions of AI agents."
  :group 'external
  :prefix "segue-")

(defcustom segue-command "segue"
  "The program to call: its name, or a list of it and its first arguments."
  :type '(choice string (repeat string))
  :risky t)

(defcustom jf/gptel-sessions-directory "~/.gptel/sessions/"
  "The folder in which `jf/gptel-persistent-session' creates sessions."
  :type 'directory)

(defcustom segue-default-preset "executor"
  "The preset of a new session, unless another is given."
  :type 'string)

;;;; Variables of a session buffer

(defvar-local jf/gptel--session-id nil "The id of the session that this buffer shows.")
(defvar-local jf/gptel--session-dir nil "The folder of that session.")
(defvar-local jf/gptel--branch-name nil "The branch that this buffer shows.")
(defvar-local jf/gptel--branch-dir nil "The folder of that branch.")
(defvar-local jf/gptel--scope nil
  "What tools may access, as read when the file was visited.
`jf/gptel--read-scope' reads it again.")
(defvar-local jf/gptel-autosave-enabled nil
  "Whether this buffer is saved after every answer and whenever Emacs auto-saves.")

(defvar jf/gptel--registry (make-hash-table :test #'equal)
  "The sessions that buffers show, by \"ID/BRANCH\".")

(defun jf/gptel--registry-key (session-id branch-name)
  "Return the key of the branch BRANCH-NAME of SESSION-ID."
  (concat session-id "/" branch-name))

(defun jf/gptel--registry-get (session-id branch-name)
  "Return the folder and the buffer of the branch BRANCH-NAME of SESSION-ID.
The value is a plist, or nil.  Metadata is not part of it: read it from disk."
  (gethash (jf/gptel--registry-key session-id branch-name) jf/gptel--registry))

(defun segue--register ()
  "Add the session of this buffer to the registry."
  (puthash (jf/gptel--registry-key jf/gptel--session-id jf/gptel--branch-name)
           (list :session-id jf/gptel--session-id :session-dir jf/gptel--session-dir
                 :branch-name jf/gptel--branch-name :branch-dir jf/gptel--branch-dir
                 :buffer (current-buffer))
           jf/gptel--registry))

(defun segue--unregister ()
  "Remove the session of this buffer from the registry."
  (remhash (jf/gptel--registry-key jf/gptel--session-id jf/gptel--branch-name) jf/gptel--registry))

;;;; The command

(defvar segue--input nil "The file that is the standard input of the command, or nil.")
(defvar segue--accepted-codes '(0) "The exit codes with which the command has an answer.")

(defun segue--call (&rest arguments)
  "Call `segue-command' with ARGUMENTS and return its JSON output as a plist.
Everything after an argument \"--\" is no option.
Signal a `user-error' with its message if it fails."
  (let ((command (append (ensure-list segue-command)
                         (seq-take-while (lambda (one) (not (equal one "--"))) arguments)
                         '("--json") (member "--" arguments)))
        (errors (make-temp-file "segue-"))
        (coding-system-for-read 'utf-8)
        (coding-system-for-write 'utf-8))
    (unwind-protect
        (with-temp-buffer
          (let ((code (condition-case problem
                          (apply #'call-process (car command) segue--input (list t errors) nil (cdr command))
                        (file-error (user-error "Segue: cannot run %s (%s); see `segue-command'"
                                                (car command) (error-message-string problem))))))
            (unless (memql code segue--accepted-codes)
              (erase-buffer)
              (insert-file-contents errors)
              (user-error "Segue: %s" (segue--error-text code))))
          (goto-char (point-min))
          (or (segue--read-json)
              (unless (progn (goto-char (point-min)) (looking-at-p "\\[\\]")) ; a list may be empty
                (user-error "Segue: the output of %s is not JSON" (car command)))))
      (delete-file errors))))

(defun segue--error-text (code)
  "Return the error message in this buffer, of a command that exited with CODE."
  (if-let ((found (plist-get (segue--read-json) :error)))
      (string-join (delete "" (delq nil (list (plist-get found :message) (plist-get found :hint)))) "; ")
    (format "exit code %s: %s" code (string-trim (buffer-string)))))

(defun segue--read-json ()
  "Return the object at point as a plist, with hyphens in its keys; nil if none."
  (let ((json-object-type 'plist) (json-array-type 'list) (json-false nil) (json-null nil))
    (condition-case nil
        (let ((found (json-read))) (and (consp found) (segue--hyphened found)))
      ((json-error end-of-file) nil))))

(defun segue--hyphened (value)
  "Return VALUE with hyphens in all its keywords."
  (cond ((keywordp value) (segue--keyword (symbol-name value)))
        ((consp value) (mapcar #'segue--hyphened value))
        (t value)))

(defun jf/gptel--read-scope (branch-dir)
  "Return what tools may access in the session of BRANCH-DIR, or nil.
The value is a plist of :paths, :org-roam-patterns and :shell-commands."
  (condition-case nil
      (plist-get (segue--open branch-dir) :scope)
    (user-error nil)))

(defun segue--open (branch-dir)
  "Return what the command reports about the branch in BRANCH-DIR."
  (apply #'segue--call "gptel" "open" (jf/gptel--context-file-path branch-dir) (segue--editor-presets)))

;;;; Visiting a session

(defun segue-find-file ()
  "Make this buffer a session if it visits one; for `find-file-hook'.
Any other file costs only one string comparison."
  (when (and buffer-file-name (string-suffix-p segue--suffix buffer-file-name))
    (when-let ((place (segue--place buffer-file-truename)))
      (condition-case problem
          (segue--initialize place)
        (error (segue--warn "%s: %s" buffer-file-name (error-message-string problem)))))))

(defun segue--place (file)
  "Return the folder of the session and the branch that FILE is in, or nil."
  (let ((path (expand-file-name file)))
    (and (not (file-remote-p path))
         (string-match segue--pattern path)
         (list (match-string 1 path) (match-string 2 path)))))

(defun segue--initialize (place)
  "Make this buffer the session at PLACE."
  (pcase-let ((`(,session-dir ,branch-name) place))
    (setq jf/gptel--session-id (file-name-nondirectory session-dir)
          jf/gptel--session-dir session-dir
          jf/gptel--branch-name branch-name
          jf/gptel--branch-dir (jf/gptel--branch-dir-path session-dir branch-name)))
  (let ((answer (segue--ask)))
    (setq jf/gptel--session-id (or (plist-get answer :session-id) jf/gptel--session-id)
          jf/gptel--scope (plist-get answer :scope)
          jf/gptel-autosave-enabled (if (plist-member answer :autosave) (plist-get answer :autosave) t))
    (segue--register)
    (segue--apply answer)
    (segue--opened answer))
  (add-hook 'kill-buffer-hook #'segue--unregister nil t)
  (add-hook 'gptel-post-response-functions #'segue-autosave 90 t)
  (add-hook 'pre-command-hook #'segue--before-command nil t)
  (setq segue--has-footer (and (segue-footer-start) t))
  (when-let ((footer (segue-footer-start)))
    (goto-char (max (point-min) (1- footer))))
  (run-hooks 'segue-session-hook))

(defvar segue-session-hook nil
  "Hook run in a buffer that has become a session.")

(defun segue--ask ()
  "Return what the command reports about this file.
If it fails, warn, and return the id and the preset in the metadata."
  (condition-case problem
      (let ((answer (segue--open jf/gptel--branch-dir)))
        (dolist (warning (plist-get answer :warnings)) (segue--warn "%s" warning))
        (when (plist-get answer :damages)
          (segue--warn "this session is damaged; you can write in it, and `segue-recover' repairs it with all of that"))
        answer)
    (user-error
     (segue--warn "%s" (error-message-string problem))
     (jf/gptel--read-session-metadata jf/gptel--branch-dir))))

(defun segue--apply (answer)
  "Apply the preset in ANSWER to this buffer, then what was saved over it."
  (let* ((saved (segue-footer-read))
         (name (plist-get answer :preset))
         (preset (or (alist-get 'gptel--preset saved) (and name (intern name))))
         (has-gptel (segue--load-gptel))
         (usual (and has-gptel (segue-all-settings))))
    (setq segue--remembered nil)
    (segue-set 'gptel--preset preset)
    (segue-set 'gptel--bounds (segue-footer-fitting (segue--bounds answer saved)))
    (unless (and has-gptel preset (segue--define-preset preset answer)
                 (or (alist-get 'gptel--preset saved) ; then gptel applies it itself
                     (segue--apply-preset preset)))
      (segue--set-all (lambda (row) (segue--setting-in answer (nth 1 row)))))
    (when has-gptel (segue--start-gptel))
    ;; After gptel, which lets the preset win over some of these.
    (segue--set-all (lambda (row) (assq (car row) saved)))
    (when has-gptel
      (segue-remember-settings)
      (unless (alist-get 'gptel--preset saved)
        (setq segue--is-unsaved (or preset (equal (plist-get answer :state) "legacy")))
        (unless preset (setcdr segue--remembered usual))))))

(defun segue--setting-in (answer key)
  "Return a pair of KEY and its value in ANSWER, or nil if it is not set there.
A value of nil means that the setting is turned off."
  (let ((value (plist-get (plist-get answer :settings) key)))
    (and (or value (plist-member (plist-get answer :overrides) key)) (cons key value))))

(defun segue--bounds (answer saved)
  "Return who wrote what: from ANSWER for the current text, else as it was SAVED.
If the file was written since, ANSWER is about another text."
  (if (and (plist-member answer :bounds) (verify-visited-file-modtime))
      (cl-loop for (kind places) on (plist-get answer :bounds) by #'cddr
               collect (cons (intern (substring (symbol-name kind) 1)) places))
    (alist-get 'gptel--bounds saved)))

(defun segue--set-all (value-of)
  "Set every setting to the value in the pair that is VALUE-OF its row.
If that is nil instead of a pair, the setting stays unchanged."
  (dolist (row segue-settings)
    (when-let ((found (funcall value-of row)))
      (let ((value (cdr found)))
        (segue-set (car row) (if (and (eq (car row) 'gptel-model) (stringp value)) (intern value) value))))))

(defun segue-reverted ()
  "Find again who wrote what in this buffer; for `after-revert-hook'.
Reverting leaves new text without that information."
  (when (and buffer-file-name (string-suffix-p segue--suffix buffer-file-name))
    (if (not jf/gptel--session-dir)     ; the modes were set up again as well
        (segue-find-file)
      (condition-case problem
          (let ((answer (segue--ask)))
            (segue-set 'gptel--bounds (segue-footer-fitting (segue--bounds answer (segue-footer-read))))
            (segue--mark-bounds)
            (segue--opened answer))
        (error (segue--warn "%s: %s" buffer-file-name (error-message-string problem)))))))

(defun segue--only-plain-locals ()
  "Remove directory-local variables that only the footer of a session may set.
For `before-hack-local-variables-hook'; Emacs does not read the footer itself."
  (when (and buffer-file-name (string-suffix-p segue--suffix buffer-file-name) (segue--place buffer-file-truename))
    (setq file-local-variables-alist
          (seq-remove (lambda (entry) (or (memq (car entry) '(eval mode)) (segue-footer--known (car entry))))
                      file-local-variables-alist))))

;;;; Saving

(defun segue-autosave (&rest _)
  "Save this buffer if it is a session, unless its file changed on disk."
  (when (and jf/gptel-autosave-enabled buffer-file-name (buffer-modified-p) (verify-visited-file-modtime))
    (save-buffer)))

(defun segue-autosave-all ()
  "Save all sessions, for `auto-save-hook'."
  (dolist (buffer (buffer-list))
    (when (buffer-local-value 'jf/gptel-autosave-enabled buffer)
      (with-current-buffer buffer (segue-autosave)))))

;;;; Commands

;;;###autoload
(defun jf/gptel-persistent-session (name &optional preset activity)
  "Start a session called NAME and visit it.
PRESET is `segue-default-preset' unless given.  ACTIVITY is the folder of an
activity to create it in, instead of `jf/gptel-sessions-directory'."
  (interactive (list (read-string "Name of the session: ")
                     (and current-prefix-arg (segue-read-preset))))
  (let ((answer (apply #'segue--call "gptel" "new" "--preset" (format "%s" (or preset segue-default-preset))
                       (append (if activity
                                   (list "--activity" (expand-file-name activity))
                                 (list "--store" (segue--store jf/gptel-sessions-directory)))
                               (segue--editor-presets) (list "--" name)))))
    (segue--visit (plist-get answer :branch-dir))))

(defun segue-branch (name &optional exclude)
  "Start a branch called NAME at the question at point, and visit it.
The branch has the conversation up to and including that question; with EXCLUDE,
or a prefix argument, without that question."
  (interactive (list (read-string "Name of the branch: ") current-prefix-arg))
  (segue--check)
  (save-buffer)
  (let ((answer (apply #'segue--call "gptel" "branch" "--position" (number-to-string (point))
                       (append (and exclude '("--exclude"))
                               (list "--" (jf/gptel--context-file-path jf/gptel--branch-dir) name)))))
    (segue--reread)
    (segue--visit (plist-get answer :branch-dir))))

(defun segue-switch-branch (branch)
  "Switch to BRANCH of this session: visit it, and make it the current one."
  (interactive (list (completing-read "Branch: " (segue-branch-names) nil t)))
  (segue--check)
  (save-buffer)
  (segue--call "switch" (file-name-nondirectory jf/gptel--session-dir) branch
               "--store" (segue--store (file-name-directory jf/gptel--session-dir)))
  (segue--reread)
  (segue--visit (jf/gptel--branch-dir-path jf/gptel--session-dir branch)))

(defun segue-recover ()
  "Repair the damaged session of this buffer, and keep what was written in it."
  (interactive)
  (segue--check)
  (save-buffer)
  (let ((answer (segue--call "recover" (file-name-nondirectory jf/gptel--session-dir) "--yes"
                             "--store" (segue--store (file-name-directory jf/gptel--session-dir)))))
    (segue--reread)
    (message "Recovered %s turns; the damaged original is %s"
             (plist-get answer :kept-turns) (plist-get answer :original))))

(defun segue-branch-names ()
  "Return the names of the branches of this session."
  (segue--check)
  (seq-filter (lambda (name) (file-directory-p (jf/gptel--branch-dir-path jf/gptel--session-dir name)))
              (directory-files (jf/gptel--branches-dir-path jf/gptel--session-dir) nil "\\`[^.]")))

(defun segue--check ()
  "Signal an error unless this buffer is a session."
  (unless jf/gptel--session-dir
    (user-error "This buffer is not a session; visit a session.md with `segue-mode' on")))

(defun segue--store (folder)
  "Return the URL of the store with the sessions in FOLDER."
  (concat "gptel:" (directory-file-name (expand-file-name folder))))

(defun segue--visit (branch-dir)
  "Visit the conversation in BRANCH-DIR as it is on disk now, as a session.
That turns on `segue-mode': without it, Emacs would obey the text of a session."
  (unless segue-mode (segue-mode 1))
  (let ((file (jf/gptel--context-file-path branch-dir)))
    (when-let ((buffer (find-buffer-visiting file)))
      (with-current-buffer buffer (segue--reread)))
    (find-file file)
    (cond (jf/gptel--session-dir)       ; else it was visited before the mode was on
          ((buffer-modified-p) (set-auto-mode) (segue-find-file))
          (t (revert-buffer t t)))))

(defun segue--reread ()
  "Revert this buffer if its file changed and the buffer did not."
  (unless (or (buffer-modified-p) (verify-visited-file-modtime))
    (revert-buffer t t)))

;;;###autoload
(define-minor-mode segue-mode
  "Make every buffer that visits a session.md a session."
  :global t
  (if segue-mode
      (progn
        (add-hook 'find-file-hook #'segue-find-file)
        (add-hook 'after-revert-hook #'segue-reverted)
        (add-hook 'auto-save-hook #'segue-autosave-all)
        ;; Only `segue-footer-read' reads what a session says about modes and variables.
        (add-hook 'before-hack-local-variables-hook #'segue--only-plain-locals)
        (add-to-list 'inhibit-local-variables-regexps segue--name)
        ;; Bounds count characters of UTF-8, whatever the text or the locale declares.
        (add-to-list 'auto-coding-alist (cons segue--name 'utf-8))
        ;; If there is no mode for Markdown: gptel needs a text mode.
        (add-to-list 'auto-mode-alist (cons segue--name 'text-mode) t))
    (remove-hook 'find-file-hook #'segue-find-file)
    (remove-hook 'after-revert-hook #'segue-reverted)
    (remove-hook 'auto-save-hook #'segue-autosave-all)
    (remove-hook 'before-hack-local-variables-hook #'segue--only-plain-locals)
    (setq inhibit-local-variables-regexps (delete segue--name inhibit-local-variables-regexps)
          auto-coding-alist (delete (cons segue--name 'utf-8) auto-coding-alist)
          auto-mode-alist (delete (cons segue--name 'text-mode) auto-mode-alist))))

(provide 'segue)
;;; segue.el ends here
