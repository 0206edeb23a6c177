;;; segue-tree.el --- The branches of a session as a tree  -*- lexical-binding: t; -*-

;; Author: The Segue authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; One line per branch, under the branch that it started from, with the first words
;; that are its own.  A star marks the current branch.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'tabulated-list)
(require 'segue)
(require 'segue-list)

(defvar-local segue-tree--session nil "The session whose branches this buffer shows.")

(defvar segue-tree-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'segue-tree-visit)
    (define-key map "w" #'segue-tree-switch)
    (define-key map "r" #'segue-rename-branch)
    (define-key map "d" #'segue-delete-branch)
    map)
  "The keys of a tree of branches.")

(define-derived-mode segue-tree-mode tabulated-list-mode "Segue-Tree"
  "The branches of a session."
  (setq tabulated-list-padding 1
        tabulated-list-format [("Branch" 40 nil) ("Turns" 5 nil :right-align t) ("Created" 16 nil) ("First words" 0 nil)])
  (add-hook 'tabulated-list-revert-hook #'segue-tree-refresh nil t)
  (tabulated-list-init-header))

;;;###autoload
(defun segue-tree (session)
  "Show the branches of SESSION as a tree.
Without a session here, read one."
  (interactive (list (or (segue-session-here) (segue-read-session "Tree of session: "))))
  (let ((buffer (get-buffer-create (format "*Segue tree: %s*" (segue-session-title session)))))
    (with-current-buffer buffer
      (segue-tree-mode)
      (setq segue-tree--session session)
      (segue-tree-refresh)
      (tabulated-list-print))
    (pop-to-buffer buffer)))

(defun segue-tree-refresh ()
  "Read the branches of this tree again."
  (let ((branches (apply #'segue--call "tree" (segue--session-arguments segue-tree--session))))
    (setq tabulated-list-entries (mapcar (lambda (branch) (segue-tree--entry branch branches)) branches))))

(defun segue-tree--entry (branch branches)
  "Return the entry of BRANCH, one of BRANCHES."
  (let ((depth (segue-tree--depth branch branches)))
    (list (plist-get branch :name)
          (vector (concat (if (plist-get branch :active) "* " "  ")
                          (if (zerop depth) "" (concat (make-string (* 2 (1- depth)) ?\s) "└ "))
                          (segue-shown (plist-get branch :name)))
                  (format "%s" (plist-get branch :turn-count))
                  (segue-list-time (plist-get branch :created-at))
                  (segue-shown (plist-get branch :first-words))))))

(defun segue-tree--depth (branch branches)
  "Return how many of BRANCHES are between BRANCH and the first one."
  (let ((depth 0) (parent (plist-get branch :parent)))
    (while (and parent (< depth (length branches)))
      (setq depth (1+ depth)
            parent (plist-get (seq-find (lambda (one) (equal (plist-get one :name) parent)) branches) :parent)))
    depth))

(defun segue-tree--branch-dir ()
  "Return the folder of the branch at point."
  (let ((name (or (tabulated-list-get-id) (user-error "There is no branch on this line"))))
    (jf/gptel--branch-dir-path (plist-get segue-tree--session :session-dir) name)))

(defun segue-tree-visit ()
  "Visit the branch at point; the current branch of the session stays the same."
  (interactive)
  (segue--visit (segue-tree--branch-dir)))

(defun segue-tree-switch ()
  "Make the branch at point the current one, and visit it."
  (interactive)
  (let ((dir (segue-tree--branch-dir)))
    (apply #'segue--change segue-tree--session "switch"
           (append (segue--session-arguments segue-tree--session) (list (tabulated-list-get-id))))
    (revert-buffer)
    (segue--visit dir)))

;;;; Changes

(defun segue-tree--target (prompt)
  "Return a session and one of its branches: at point, or read with PROMPT."
  (if (derived-mode-p 'segue-tree-mode)
      (list segue-tree--session (file-name-nondirectory (segue-tree--branch-dir)))
    (let ((session (or (segue-session-here) (segue-read-session "Session: "))))
      (list session (completing-read prompt (segue-tree--names session) nil t)))))

(defun segue-tree--names (session)
  "Return the names of the branches of SESSION."
  (mapcar (lambda (branch) (plist-get branch :name)) (apply #'segue--call "tree" (segue--session-arguments session))))

(defun segue-tree--buffer (session branch)
  "Return the buffer of BRANCH of SESSION, or nil."
  (seq-find (lambda (buffer) (equal (buffer-local-value 'jf/gptel--branch-name buffer) branch))
            (segue--session-buffers session)))

;;;###autoload
(defun segue-rename-branch (session branch name)
  "Rename BRANCH of SESSION to NAME; the time in front of its name stays.
In a tree it is the branch at point.  The first branch has a fixed name."
  (interactive
   (let ((target (segue-tree--target "Rename branch: ")))
     (append target (list (read-string (format "New name of %s: " (segue-shown (nth 1 target))))))))
  (when (string-blank-p name) (user-error "A name cannot be empty"))
  (let* ((buffer (segue-tree--buffer session branch))
         (answer (segue--change session "gptel" "branch" (concat "--rename=" name)
                                "--" (plist-get session :session-dir) branch))
         (dir (plist-get answer :branch-dir)))
    (when buffer
      (with-current-buffer buffer (set-buffer-modified-p nil)) ; it was saved, and its file has moved
      (kill-buffer buffer)
      (segue--visit dir))
    (segue-tree--refresh-all)
    (message "Renamed to %s" (segue-shown (plist-get answer :branch-name)))))

;;;###autoload
(defun segue-delete-branch (session branch)
  "Delete BRANCH of SESSION, after confirmation.
In a tree it is the branch at point.  The first branch, the current one, and one
that others started from are never deleted."
  (interactive (segue-tree--target "Delete branch: "))
  (when (yes-or-no-p (format "Delete the branch %s? " (segue-shown branch)))
    (let ((buffer (segue-tree--buffer session branch)))
      (segue--change session "gptel" "branch" "--delete" "--yes" "--" (plist-get session :session-dir) branch)
      (when buffer
        (with-current-buffer buffer (set-buffer-modified-p nil))
        (kill-buffer buffer)))
    (segue-tree--refresh-all)
    (message "Deleted %s" (segue-shown branch))))

(defun segue-tree--refresh-all ()
  "Read all trees again that are shown."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (derived-mode-p 'segue-tree-mode)
        (condition-case problem
            (revert-buffer)
          (error (segue--warn "%s" (error-message-string problem))))))))

(provide 'segue-tree)
;;; segue-tree.el ends here
