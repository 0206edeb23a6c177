;;; segue-run.el --- Runs all tests and says as JSON what became of each  -*- lexical-binding: t; -*-

;;; Commentary:

;; The file to write is named by SEGUE_TEST_RESULTS: an object with the name of
;; every test, and the reason where it failed, null where it passed.

;;; Code:

(require 'ert)
(require 'json)

(defun segue-run-reason (result)
  "Return why RESULT is no success; nil if it is one."
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
