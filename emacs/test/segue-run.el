;;; segue-run.el --- Run all tests and write the results as JSON  -*- lexical-binding: t; -*-

;;; Commentary:

;; SEGUE_TEST_RESULTS is the file to write: an object with the name of every test,
;; and the reason if it failed, null if it passed.

;;; Code:

(require 'ert)
(require 'json)

(defun segue-run-reason (result)
  "Return why RESULT is not a success; nil if it is one."
  (unless (ert-test-passed-p result)
    (if (ert-test-result-with-condition-p result)
        (format "%s%S" (mapconcat (lambda (info) (concat (car info) (cdr info) ": "))
                                  (ert-test-result-with-condition-infos result) "")
                (ert-test-result-with-condition-condition result))
      (format "%S" result))))

(defun segue-run-all ()
  "Run every test there is."
  (let ((results (mapcar (lambda (test) (cons (ert-test-name test) (segue-run-reason (ert-run-test test))))
                         (ert-select-tests t t))))
    (with-temp-file (getenv "SEGUE_TEST_RESULTS")
      (insert (json-encode results)))))

(segue-run-all)
;;; segue-run.el ends here
