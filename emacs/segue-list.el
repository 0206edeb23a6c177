;;; segue-list.el --- All sessions: list, find, rename and delete them  -*- lexical-binding: t; -*-

;; Author: The Segue authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The sessions are those in `jf/gptel-sessions-directory' and those of all
;; activities in `segue-activities-directory'.  The command finds and changes them;
;; here they are shown.

;;; Code:

(require 'iso8601)
(require 'seq)
(require 'subr-x)
(require 'tabulated-list)
(require 'segue)

(defvar gptel--known-presets)
(defvar segue-list-history nil "Titles and words that were looked for.")

;;;; Sessions

(defun segue-sessions ()
  "Return all sessions, the last active one first, as plists."
  (segue--call "gptel" "list" "--store" (segue--store jf/gptel-sessions-directory)
               "--activities" (expand-file-name segue-activities-directory)))

(defconst segue-list--title-limit 100 "The longest title in prompts and lists.")

(defun segue-session-title (session)
  "Return the title of SESSION, or its id if it has none, as one line."
  (let ((title (segue-shown (plist-get session :title))))
    (truncate-string-to-width (if (string-empty-p title) (segue-shown (plist-get session :session-id)) title)
                              segue-list--title-limit nil nil "…")))

(defun segue-session-here ()
  "Return the session at point or of this buffer as a plist, or nil."
  (cond
   ((derived-mode-p 'segue-list-mode) (tabulated-list-get-id))
   (jf/gptel--session-dir
    (list :session-dir jf/gptel--session-dir :session-id jf/gptel--session-id :title segue--title))))

(defun segue-read-session (prompt &optional is-free)
  "Read a session with PROMPT, completing its title, and return it.
With IS-FREE, other words may be entered too, which are returned as a string."
  (let* ((choices (segue-list--choices (segue-sessions)))
         (annotate (lambda (choice) (segue-list--annotation (cdr (assoc choice choices)))))
         (table (lambda (string predicate action)
                  (if (eq action 'metadata)
                      `(metadata (category . segue-session) (annotation-function . ,annotate)
                                 (display-sort-function . identity) (cycle-sort-function . identity))
                    (complete-with-action action choices string predicate))))
         (entered (let ((completion-ignore-case t))
                    (completing-read prompt table nil (not is-free) nil 'segue-list-history))))
    (or (cdr (assoc entered choices))
        (if (and is-free (not (string-blank-p entered))) entered (user-error "No session was chosen")))))

(defun segue-list--choices (sessions)
  "Return an alist of SESSIONS by title; the id is added to a title that is taken."
  (let (choices)
    (dolist (session sessions (nreverse choices))
      (let ((title (segue-session-title session)))
        (push (cons (if (assoc title choices) (format "%s (%s)" title (segue-list--id session)) title) session)
              choices)))))

(defun segue-list--id (session)
  "Return the id of SESSION with its folder, which is unique."
  (segue-shown (or (segue-list--activity session) (plist-get session :session-id))))

(defun segue-list--activity (session)
  "Return the name of the folder of the activity of SESSION, or nil."
  (let ((name (plist-get session :activity))) (and name (not (string-empty-p name)) name)))

(defun segue-list--annotation (session)
  "Return what is shown after the title of SESSION."
  (format "  %s turns, %s%s" (plist-get session :turn-count) (segue-list-time (plist-get session :updated))
          (if (segue-list--activity session) ", activity" "")))

(defun segue-list-time (text)
  "Return the time in TEXT, which is ISO 8601, in local time."
  (condition-case nil
      (format-time-string "%F %R" (encode-time (iso8601-parse (replace-regexp-in-string "\\.[0-9]+" "" text))))
    (error "")))

(defun segue-session-visit (session)
  "Visit SESSION: its current branch."
  (segue--visit (file-truename (expand-file-name jf/gptel--current-link-name (plist-get session :session-dir)))))

(defun segue--session-arguments (session)
  "Return the arguments that name SESSION for any command."
  (let ((dir (directory-file-name (plist-get session :session-dir))))
    (list "--store" (segue--store (file-name-directory dir)) "--" (file-name-nondirectory dir))))

(defun segue--session-buffers (session)
  "Return the buffers of all branches of SESSION."
  (let ((dir (file-truename (plist-get session :session-dir))))
    (seq-filter (lambda (buffer)
                  (let ((own (buffer-local-value 'jf/gptel--session-dir buffer))) (and own (equal own dir))))
                (buffer-list))))

(defun segue--change (session &rest arguments)
  "Save the buffers of SESSION, call the command with ARGUMENTS, and reread them."
  (dolist (buffer (segue--session-buffers session))
    (with-current-buffer buffer
      (when (buffer-modified-p) (save-buffer))))
  (prog1 (apply #'segue--call arguments)
    (dolist (buffer (segue--session-buffers session))
      (with-current-buffer buffer
        (when (file-exists-p buffer-file-name) (segue--reread))))))

;;;; Presets

;;;###autoload
(defun segue-read-preset (&optional prompt)
  "Read the name of a preset with PROMPT, completing those of Segue and of gptel."
  (let* ((known (mapcar (lambda (preset)
                          (cons (segue-shown (plist-get preset :name)) (segue-shown (plist-get preset :description))))
                        (condition-case nil (segue--call "gptel" "presets") (user-error nil))))
         (names (append (mapcar #'car known)
                        (mapcar (lambda (preset) (symbol-name (car preset))) (bound-and-true-p gptel--known-presets))))
         (completion-extra-properties
          (list :annotation-function
                (lambda (name)
                  (let ((text (cdr (assoc name known)))) (if (member text '(nil "")) "" (concat "  " text)))))))
    (completing-read (format-prompt (or prompt "Preset") segue-default-preset) (delete-dups names) nil 'confirm nil nil
                     segue-default-preset)))

;;;; The list

(defvar-local segue-list--words nil "The words that the sessions of this list contain, or nil.")

(defvar segue-list-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'segue-list-visit)
    (define-key map "t" #'segue-tree)
    (define-key map "r" #'segue-rename)
    (define-key map "d" #'segue-delete)
    (define-key map "s" #'segue-search)
    (define-key map "f" #'segue-find)
    (define-key map "+" #'jf/gptel-persistent-session)
    map)
  "The keys of a list of sessions.")

(define-derived-mode segue-list-mode tabulated-list-mode "Segue"
  "A list of sessions."
  (setq tabulated-list-padding 1)
  (add-hook 'tabulated-list-revert-hook #'segue-list-refresh nil t))

;;;###autoload
(defun segue-list ()
  "List all sessions, the last active one first."
  (interactive)
  (segue-list--show "*Segue sessions*" nil))

;;;###autoload
(defun segue-search (words)
  "List the sessions with WORDS in their title or text, the best match first.
These are the sessions in `jf/gptel-sessions-directory'."
  (interactive (list (read-string "Search for: " nil 'segue-list-history)))
  (when (string-blank-p words) (user-error "Nothing to search for"))
  (segue-list--show "*Segue search*" words))

;;;###autoload
(defun segue-find (session)
  "Visit SESSION, found by its title.
If what was entered is no title, search for it; one match is visited at once."
  (interactive (list (segue-read-session "Session or words in it: " t)))
  (if (not (stringp session))
      (segue-session-visit session)
    (let ((found (segue-list--search session)))
      (cond ((null found) (user-error "No session contains %s" (segue-shown session)))
            ((cdr found) (segue-search session))
            (t (segue-list--visit-match (car found)))))))

(defun segue-list--show (name words)
  "Show a list of sessions in the buffer NAME, those with WORDS if not nil."
  (let ((buffer (get-buffer-create name)))
    (with-current-buffer buffer
      (unless (derived-mode-p 'segue-list-mode) (segue-list-mode))
      (setq segue-list--words words)
      (segue-list-refresh)
      (tabulated-list-print t))
    (pop-to-buffer buffer)))

(defun segue-list-refresh ()
  "Read the sessions of this list again."
  (setq tabulated-list-format
        (vconcat [("Title" 36 t) ("Turns" 5 segue-list--fewer-turns :right-align t) ("Last activity" 16 t) ("Branch" 18 t)
                  ("Preset" 12 t)]
                 (if segue-list--words [("Found" 0 nil)] [("Id" 0 t)]))
        tabulated-list-entries
        (mapcar #'segue-list--entry (if segue-list--words (segue-list--search segue-list--words) (segue-sessions))))
  (tabulated-list-init-header))

(defun segue-list--fewer-turns (one other)
  "Return whether the entry ONE has a smaller number than the entry OTHER."
  (< (plist-get (car one) :turn-count) (plist-get (car other) :turn-count)))

(defun segue-list--entry (session)
  "Return the entry of SESSION in a list."
  (let ((damage (segue-shown (plist-get session :damage))) (found (plist-get session :found)))
    (list session
          (vector (segue-session-title session)
                  (format "%s" (plist-get session :turn-count))
                  (segue-list-time (plist-get session :updated))
                  (segue-shown (plist-get session :branch-name))
                  (segue-shown (plist-get session :preset))
                  (cond ((not (string-empty-p damage)) (concat "damaged: " damage))
                        (found (segue-shown (plist-get found :text)))
                        (t (segue-list--id session)))))))

(defun segue-list--search (words)
  "Return the sessions that contain WORDS, with the match as :found."
  (let ((root (directory-file-name (expand-file-name jf/gptel-sessions-directory))))
    (mapcar (lambda (entry)
              (let ((id (plist-get entry :id)))
                (list :session-id id :session-dir (expand-file-name id root) :title (plist-get entry :title)
                      :turn-count (plist-get entry :turn-count) :updated (plist-get entry :updated-at)
                      :preset (plist-get entry :agent) :damage (plist-get entry :damage)
                      :branch-name (plist-get (plist-get entry :found) :branch) :found (plist-get entry :found))))
            (segue--call "search" "--store" (segue--store root) "--" words))))

(defun segue-list-visit ()
  "Visit the session at point; in search results, where the words are."
  (interactive)
  (let ((session (or (tabulated-list-get-id) (user-error "There is no session on this line"))))
    (if (plist-get session :found) (segue-list--visit-match session) (segue-session-visit session))))

(defun segue-list--visit-match (session)
  "Visit SESSION where its match is."
  (let* ((found (plist-get session :found))
         (branch (plist-get found :branch))
         (dir (and branch (string-match-p "\\`[^/.][^/]*\\'" branch)
                   (jf/gptel--branch-dir-path (plist-get session :session-dir) branch))))
    (if (and dir (file-directory-p dir)) (segue--visit dir) (segue-session-visit session))
    (when-let ((word (car (plist-get found :marked))))
      (let ((case-fold-search t) (place nil))
        (save-excursion
          (goto-char (point-min))
          (setq place (search-forward word (segue-footer-start) t)))
        (when place (goto-char place))))))

;;;; Changes

;;;###autoload
(defun segue-rename (session title)
  "Change the title of SESSION to TITLE; its id and its folder stay the same.
Without a session here, read one."
  (interactive
   (let ((session (or (segue-session-here) (segue-read-session "Rename session: "))))
     (list session (read-string (format "New title of %s: " (segue-session-title session))
                                (segue-shown (plist-get session :title))))))
  (when (string-blank-p title) (user-error "A title cannot be empty"))
  (apply #'segue--change session "rename" (append (segue--session-arguments session) (list title)))
  (segue-list--refresh-all)
  (message "Renamed to %s" (segue-shown title)))

;;;###autoload
(defun segue-delete (session)
  "Move SESSION with all its branches to the trash, after confirmation.
Its buffers are saved first, and killed.  Without a session here, read one."
  (interactive (list (or (segue-session-here) (segue-read-session "Delete session: "))))
  (when (yes-or-no-p (format "Move the session %s to the trash? " (segue-session-title session)))
    (let ((buffers (segue--session-buffers session)))
      (apply #'segue--change session "delete" "--yes" (segue--session-arguments session))
      (dolist (buffer buffers)
        (with-current-buffer buffer (set-buffer-modified-p nil))
        (kill-buffer buffer)))
    (segue-list--refresh-all)
    (message "Deleted; to restore it: segue trash restore %s --store %s"
             (file-name-nondirectory (directory-file-name (plist-get session :session-dir)))
             (segue--store (file-name-directory (directory-file-name (plist-get session :session-dir)))))))

(defun segue-list--refresh-all ()
  "Read all lists of sessions again that are shown."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (derived-mode-p 'segue-list-mode)
        (condition-case problem
            (revert-buffer)
          (error (segue--warn "%s" (error-message-string problem))))))))

(provide 'segue-list)
;;; segue-list.el ends here
