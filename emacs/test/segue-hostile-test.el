;;; segue-hostile-test.el --- Untrusted footers in a real Emacs  -*- lexical-binding: t; -*-

;;; Commentary:

;; tests/emacs writes the footers: each line of SEGUE_TEST_VALUES is a JSON text.

;;; Code:

(require 'segue-test-support)

(defun segue-hostile-lines (file)
  "Return the texts in FILE, one per line."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8)) (insert-file-contents file))
    (let (found)
      (while (not (eobp))
        (push (json-read) found)
        (forward-line 1))
      (nreverse found))))

(defun segue-hostile-check (footer)
  "Visit a session with FOOTER and check that it is as harmless as any other."
  (let* ((dir (expand-file-name "x-20260301120000/branches/main/" (make-temp-file "segue-test-" t)))
         (file (expand-file-name "session.md" dir))
         (warned nil) (segue-command "/nowhere/segue") (enable-local-variables :all) (enable-local-eval t))
    (make-directory dir t)
    (let ((coding-system-for-write 'utf-8))
      (write-region (concat "### Hi\n\nHello there.\n" footer) nil file nil 'quiet))
    (cl-letf (((symbol-function 'display-warning) (lambda (_ text &rest _) (push text warned))))
      (segue-test-visiting file
        (should-not segue-test-ran)
        (should (eq major-mode 'text-mode))
        (should-not file-local-variables-alist)
        (dolist (row segue--variables)
          (should (segue-plain-p (and (local-variable-p (car row)) (symbol-value (car row))))))
        (should (segue-plain-p warned))
        (should (segue-plain-p (buffer-string)))))
    (delete-directory (file-name-directory (directory-file-name (file-name-directory (directory-file-name dir)))) t)))

(defun segue-hostile-run ()
  "Check every footer, and print every plain value again."
  (segue-mode 1)
  (dolist (footer (segue-hostile-lines (getenv "SEGUE_TEST_FOOTERS")))
    (ert-info ((format "%S" footer)) (segue-hostile-check footer)))
  (let ((printed (mapcar (lambda (text) (json-encode-string (segue-printed (segue-read text))))
                         (segue-hostile-lines (getenv "SEGUE_TEST_VALUES"))))
        (coding-system-for-write 'utf-8))
    (write-region (string-join printed "\n") nil (getenv "SEGUE_TEST_RESULTS") nil 'quiet)))

(provide 'segue-hostile-test)
;;; segue-hostile-test.el ends here
