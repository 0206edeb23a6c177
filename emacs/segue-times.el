;;; segue-times.el --- When something was said in Emacs  -*- lexical-binding: t; -*-

;; Author: The Segue authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A text has no times.  When a question is sent, and when an answer is complete, a
;; line is added to a hidden file of the branch: the time, who said it, and a hash of
;; the text.  Segue uses it when it records the text, if that is still the same.
;; Without such a line, the time is that of the file.

;;; Code:

(require 'subr-x)
(require 'segue-files)

(defvar jf/gptel--branch-dir)

(defmacro segue-times--safely (&rest body)
  "Do BODY; a time that cannot be noted stops nothing."
  (declare (indent 0))
  `(condition-case problem
       (progn ,@body)
     (error (message "Segue: a time could not be noted: %s" (error-message-string problem)))))

;;;###autoload
(defun segue-times-setup (_answer)
  "Note in this buffer when a question is sent and when an answer is complete."
  (add-hook 'gptel-post-request-hook #'segue-times-note-question nil t)
  (add-hook 'gptel-post-response-functions #'segue-times-note-answer 80 t)) ; before it is saved

(defun segue-times-note-question ()
  "Note that the text of the user before point is sent now."
  (segue-times--safely
   (save-excursion
     (skip-chars-backward " \t\n")
     (let ((end (point)))
       (when (and (not (bobp)) (not (get-text-property (1- end) 'gptel)))
         (dolist (text (split-string (buffer-substring-no-properties
                                      (or (previous-single-property-change end 'gptel) (point-min)) end)
                                     "^### " t "[ \t\n]+"))
           (segue-times--note "user" text)))))))

(defun segue-times-note-answer (begin end)
  "Note that everything that gptel wrote between BEGIN and END is complete now."
  (segue-times--safely
   (let ((at begin))
     (while (and at end (< at end))
       (let ((next (min end (or (next-single-property-change at 'gptel nil end) end))))
         (when (eq (get-text-property at 'gptel) 'response)
           (segue-times--note "assistant" (buffer-substring-no-properties at next)))
         (setq at next))))))

(defun segue-times--note (role text)
  "Note that ROLE has said TEXT now."
  (let ((plain (replace-regexp-in-string "[ \t\n\r\f\v]+" "" text))
        (file (expand-file-name jf/gptel--times-file-name jf/gptel--branch-dir)))
    (unless (or (string-empty-p plain) (file-symlink-p file))
      (let ((coding-system-for-write 'us-ascii-unix))
        (with-file-modes #o600
          (write-region (format "%s %s %s\n" (format-time-string "%FT%T.%3NZ" nil t) role
                                (secure-hash 'sha256 (encode-coding-string plain 'utf-8)))
                        nil file t 'quiet))))))

(provide 'segue-times)
;;; segue-times.el ends here
