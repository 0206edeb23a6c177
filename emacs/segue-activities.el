;;; segue-activities.el --- An activity with a session of its own  -*- lexical-binding: t; -*-

;; Author: The Segue authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; An activity is a folder, such as ~/emacs-activities/plan-2026-11-15, with a
;; session in it.  If the package activities is installed, it gets an activity of
;; the same name, which shows the session and can be suspended and resumed.

;;; Code:

(require 'segue)
(require 'segue-list)

(declare-function activities-define "activities")
(declare-function activities-names "activities")

;;;###autoload
(defun activities-ext-create (name &optional preset)
  "Create the activity NAME with a session, and visit the session.
Its folder is in `segue-activities-directory', called after NAME and the date.
PRESET is `segue-default-preset' unless given; a prefix argument asks for it.
If the package activities is installed, the activity is defined there too."
  (interactive (list (read-string "Name of the activity: ")
                     (and current-prefix-arg (segue-read-preset))))
  (when (string-blank-p name) (user-error "An activity needs a name"))
  (let* ((answer (apply #'segue--call "gptel" "new" "--preset" (format "%s" (or preset segue-default-preset))
                        "--activities" (expand-file-name segue-activities-directory)
                        (append (segue--editor-presets) (list "--" name))))
         (folder (file-name-nondirectory
                  (directory-file-name (file-name-directory (plist-get answer :session-dir))))))
    (segue--visit (plist-get answer :branch-dir))
    (segue-activities--define name folder)
    (current-buffer)))

(defun segue-activities--define (name folder)
  "Define the activity NAME with this buffer, if the package is installed.
If that name is taken, it is called like its FOLDER."
  (condition-case problem
      (when (and (require 'activities nil t) (fboundp 'activities-define))
        (delete-other-windows)
        (activities-define (if (member name (activities-names)) folder name)))
    (error (segue--warn "the session was created, but not its activity: %s" (error-message-string problem)))))

(provide 'segue-activities)
;;; segue-activities.el ends here
