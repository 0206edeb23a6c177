;;; segue.el --- Sessions of AI agents as files that you edit  -*- lexical-binding: t; -*-

;; Author: The Segue authors
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: convenience, files, tools
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A session is a folder with a folder for each branch, and in it session.md: the
;; conversation, and a footer that says which preset holds and what differs.
;;
;;     (require 'segue)
;;     (segue-mode 1)
;;
;; With `segue-mode' on, visiting a session.md makes its buffer a session.
;; `jf/gptel-persistent-session' begins one, `segue-branch' goes another way from
;; the question at point, and `segue-switch-branch' goes on in another branch.
;;
;; With gptel, the conversation goes on with `gptel-send'.  Without it, everything
;; else works, and gptel's variables are set in the buffer all the same.

;;; Code:

(require 'cl-lib)
(require 'json)
(require 'seq)
(require 'subr-x)
(require 'segue-files)
(require 'segue-footer)
(require 'segue-gptel)

(defvar gptel--bounds)

(defgroup segue nil
  "Sessions of AI agents."
  :group 'external
  :prefix "segue-")

(defcustom segue-command "segue"
  "The program to call: its name, or a list of it and its first arguments."
  :type '(choice string (repeat string))
  :risky t)

(defcustom jf/gptel-sessions-directory "~/.gptel/sessions/"
  "Where `jf/gptel-persistent-session' makes sessions."
  :type 'directory)

(defcustom segue-default-preset "executor"
  "The preset of a new session, unless another is asked for."
  :type 'string)

;;;; What a buffer knows

(defvar-local jf/gptel--session-id nil "The id of the session that this buffer shows.")
(defvar-local jf/gptel--session-dir nil "The folder of that session.")
(defvar-local jf/gptel--branch-name nil "The branch that this buffer shows.")
(defvar-local jf/gptel--branch-dir nil "The folder of that branch.")
(defvar-local jf/gptel--scope nil
  "What tools may touch, as it was when the file was visited.
`jf/gptel--read-scope' reads it anew.")
(defvar-local jf/gptel-autosave-enabled nil
  "Whether this buffer is saved after every answer and whenever Emacs auto-saves.")

(defvar jf/gptel--registry (make-hash-table :test #'equal)
  "The sessions that buffers show, by \"ID/BRANCH\".")

(defun jf/gptel--registry-key (session-id branch-name)
  "Return the key of the branch BRANCH-NAME of SESSION-ID."
  (concat session-id "/" branch-name))

(defun jf/gptel--registry-get (session-id branch-name)
  "Return where the branch BRANCH-NAME of SESSION-ID is, and its buffer.
The value is a plist, or nil.  It holds no metadata: read that from disk."
  (gethash (jf/gptel--registry-key session-id branch-name) jf/gptel--registry))

(defun segue--register ()
  "Enter the session of this buffer."
  (puthash (jf/gptel--registry-key jf/gptel--session-id jf/gptel--branch-name)
           (list :session-id jf/gptel--session-id :session-dir jf/gptel--session-dir
                 :branch-name jf/gptel--branch-name :branch-dir jf/gptel--branch-dir
                 :buffer (current-buffer))
           jf/gptel--registry))

(defun segue--unregister ()
  "Forget the session of this buffer."
  (remhash (jf/gptel--registry-key jf/gptel--session-id jf/gptel--branch-name) jf/gptel--registry))

;;;; The command

(defun segue--call (&rest arguments)
  "Call `segue-command' with ARGUMENTS and return its answer as a plist.
Signal a `user-error' in its own words where it fails."
  (let ((words (append (ensure-list segue-command) arguments '("--json")))
        (complaints (make-temp-file "segue-"))
        (coding-system-for-read 'utf-8)
        (coding-system-for-write 'utf-8))
    (unwind-protect
        (with-temp-buffer
          (let ((code (condition-case problem
                          (apply #'call-process (car words) nil (list t complaints) nil (cdr words))
                        (file-error (user-error "Segue: cannot run %s (%s); see `segue-command'"
                                                (car words) (error-message-string problem))))))
            (unless (eql code 0)
              (erase-buffer)
              (insert-file-contents complaints)
              (user-error "Segue: %s" (segue--complaint code))))
          (goto-char (point-min))
          (or (segue--read-json) (user-error "Segue: the answer of %s is no JSON" (car words))))
      (delete-file complaints))))

(defun segue--complaint (code)
  "Return the words of the command, which ended with CODE, in this buffer."
  (if-let ((found (plist-get (segue--read-json) :error)))
      (string-join (delete "" (delq nil (list (plist-get found :message) (plist-get found :hint)))) "; ")
    (format "it ended with %s %s" code (string-trim (buffer-string)))))

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
  "Return what tools may touch in the session of BRANCH-DIR, or nil.
The value is a plist of :paths, :org-roam-patterns and :shell-commands."
  (condition-case nil
      (plist-get (segue--call "gptel" "open" (jf/gptel--context-file-path branch-dir)) :scope)
    (user-error nil)))

;;;; Visiting a session

(defun segue-find-file ()
  "Make this buffer a session if it visits one; for `find-file-hook'.
Any other file costs one comparison of strings."
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
    (segue--apply answer))
  (add-hook 'kill-buffer-hook #'segue--unregister nil t)
  (add-hook 'gptel-post-response-functions #'segue-autosave 90 t)
  (when-let ((footer (segue-footer-start)))
    (goto-char (max (point-min) (1- footer)))))

(defun segue--ask ()
  "Return the answer of the command to this file.
Where it has none, warn, and return the id and the preset in the metadata."
  (condition-case problem
      (let ((answer (segue--call "gptel" "open" (jf/gptel--context-file-path jf/gptel--branch-dir))))
        (dolist (warning (plist-get answer :warnings)) (segue--warn "%s" warning))
        answer)
    (user-error
     (segue--warn "%s" (error-message-string problem))
     (jf/gptel--read-session-metadata jf/gptel--branch-dir))))

(defun segue--apply (answer)
  "Apply the preset in ANSWER to this buffer, then what was saved over it."
  (let* ((saved (segue-footer-read))
         (name (plist-get answer :preset))
         (preset (or (alist-get 'gptel--preset saved) (and name (intern name))))
         (has-gptel (segue--load-gptel)))
    (segue-set 'gptel--preset preset)
    (segue-set 'gptel--bounds (segue-footer-fitting (segue--bounds answer saved)))
    (unless (and has-gptel preset (segue--know-preset preset answer)
                 (or (alist-get 'gptel--preset saved) ; then gptel applies it itself
                     (segue--apply-preset preset)))
      (segue--set-all (lambda (row) (plist-get (plist-get answer :settings) (nth 1 row)))))
    (when has-gptel (segue--start-gptel))
    ;; After gptel, which lets the preset win over some of these.
    (segue--set-all (lambda (row) (alist-get (car row) saved)))
    (when has-gptel (segue-settled))))

(defun segue--bounds (answer saved)
  "Return who said what: as ANSWER has it of the text now, else as it was SAVED.
Where the file was written anew meanwhile, the answer is of another text."
  (if (and (plist-member answer :bounds) (verify-visited-file-modtime))
      (cl-loop for (kind places) on (plist-get answer :bounds) by #'cddr
               collect (cons (intern (substring (symbol-name kind) 1)) places))
    (alist-get 'gptel--bounds saved)))

(defun segue--set-all (value-of)
  "Set every setting to what VALUE-OF gives for its row, unless that is nil."
  (dolist (row segue-settings)
    (when-let ((value (funcall value-of row)))
      (segue-set (car row) (if (and (eq (car row) 'gptel-model) (stringp value)) (intern value) value)))))

(defun segue-reverted ()
  "Find out anew who said what in this buffer; for `after-revert-hook'.
Reading the file again leaves no trace of that on the text that is new."
  (when (and buffer-file-name (string-suffix-p segue--suffix buffer-file-name))
    (if (not jf/gptel--session-dir)     ; the modes were set up anew as well
        (segue-find-file)
      (condition-case problem
          (progn
            (segue-set 'gptel--bounds (segue-footer-fitting (segue--bounds (segue--ask) (segue-footer-read))))
            (segue--mark-bounds))
        (error (segue--warn "%s: %s" buffer-file-name (error-message-string problem)))))))

(defun segue--only-plain-locals ()
  "Let no directory choose for a session what only its footer may.
For `before-hack-local-variables-hook'; Emacs does not read the footer itself."
  (when (and buffer-file-name (string-suffix-p segue--suffix buffer-file-name) (segue--place buffer-file-truename))
    (setq file-local-variables-alist
          (seq-remove (lambda (entry) (or (memq (car entry) '(eval mode)) (segue-footer--known (car entry))))
                      file-local-variables-alist))))

;;;; Saving

(defun segue-autosave (&rest _)
  "Save this buffer if it is a session, unless its file changed behind our back."
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
  "Begin a session called NAME and visit it.
PRESET is `segue-default-preset' unless given.  ACTIVITY is the folder of an
activity to begin it in, instead of `jf/gptel-sessions-directory'."
  (interactive (list (read-string "Name of the session: ")
                     (and current-prefix-arg (read-string "Preset: " nil nil segue-default-preset))))
  (let ((answer (apply #'segue--call "gptel" "new" name "--preset" (or preset segue-default-preset)
                       (if activity
                           (list "--activity" (expand-file-name activity))
                         (list "--store" (segue--store jf/gptel-sessions-directory))))))
    (segue--visit (plist-get answer :branch-dir))))

(defun segue-branch (name &optional exclude)
  "Go another way from the question at point, in a branch called NAME.
It holds the conversation up to that question and with it; with EXCLUDE, or a
prefix argument, without it."
  (interactive (list (read-string "Name of the branch: ") current-prefix-arg))
  (segue--check)
  (save-buffer)
  (let ((answer (apply #'segue--call "gptel" "branch" (jf/gptel--context-file-path jf/gptel--branch-dir) name
                       "--position" (number-to-string (point)) (and exclude '("--exclude")))))
    (segue--reread)
    (segue--visit (plist-get answer :branch-dir))))

(defun segue-switch-branch (branch)
  "Go on in BRANCH of this session: visit it, and make it the current one."
  (interactive (list (completing-read "Branch: " (segue-branch-names) nil t)))
  (segue--check)
  (save-buffer)
  (segue--call "switch" (file-name-nondirectory jf/gptel--session-dir) branch
               "--store" (segue--store (file-name-directory jf/gptel--session-dir)))
  (segue--reread)
  (segue--visit (jf/gptel--branch-dir-path jf/gptel--session-dir branch)))

(defun segue-branch-names ()
  "Return the names of the branches of this session."
  (segue--check)
  (seq-filter (lambda (name) (file-directory-p (jf/gptel--branch-dir-path jf/gptel--session-dir name)))
              (directory-files (jf/gptel--branches-dir-path jf/gptel--session-dir) nil "\\`[^.]")))

(defun segue--check ()
  "Signal an error unless this buffer is a session."
  (unless jf/gptel--session-dir
    (user-error "This buffer shows no session; visit a session.md with `segue-mode' on")))

(defun segue--store (folder)
  "Return the store that the sessions in FOLDER are."
  (concat "gptel:" (directory-file-name (expand-file-name folder))))

(defun segue--visit (branch-dir)
  "Visit the conversation in BRANCH-DIR, as the disk has it now."
  (let ((file (jf/gptel--context-file-path branch-dir)))
    (when-let ((buffer (find-buffer-visiting file)))
      (with-current-buffer buffer (segue--reread)))
    (find-file file)))

(defun segue--reread ()
  "Read the file of this buffer again if it changed and the buffer did not."
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
        ;; Whatever a session says of modes and variables, `segue-footer-read' reads it, and nobody else.
        (add-hook 'before-hack-local-variables-hook #'segue--only-plain-locals)
        (add-to-list 'inhibit-local-variables-regexps segue--name)
        ;; Bounds count characters, whatever a text or the locale says of itself.
        (add-to-list 'auto-coding-alist (cons segue--name 'utf-8))
        ;; Where there is no mode for Markdown; gptel wants one for text.
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
