;;; segue-test-support.el --- What the tests share: sessions, and the real command  -*- lexical-binding: t; -*-

;;; Commentary:

;; tests/emacs writes the sessions with the real store; expected.json lists what
;; Emacs has to find in them.

;;; Code:

(require 'ert)
(require 'segue)

(defvar segue-test-folder (getenv "SEGUE_TEST_SESSIONS")
  "Where the sessions and expected.json are.")

(defvar segue-test-ran nil
  "Set by the code in hostile texts if it is ever run.")

(defun segue-test-expected ()
  "Return what has to be found: a list of plists."
  (let ((json-object-type 'plist) (json-array-type 'list))
    (json-read-file (expand-file-name "expected.json" segue-test-folder))))

(defun segue-test-case (name)
  "Return what has to be found in the session NAME."
  (or (seq-find (lambda (found) (equal (plist-get found :name) name)) (segue-test-expected))
      (error "There is no session %s" name)))

(defun segue-test-value (value)
  "Return VALUE as Lisp; a symbol is distinguished from a string."
  (pcase value
    (`(:symbol ,name) (intern name))
    (_ value)))

(defmacro segue-test-visiting (file &rest body)
  "Visit FILE, do BODY there, and forget it again."
  (declare (indent 1))
  `(let ((buffer (let ((vc-handled-backends nil)) (find-file-noselect ,file))))
     (unwind-protect (with-current-buffer buffer ,@body)
       (with-current-buffer buffer (set-buffer-modified-p nil))
       (kill-buffer buffer))))

(defmacro segue-test-gullible (&rest body)
  "Run BODY in an Emacs that applies all local variables of a file."
  (declare (indent 0))
  `(let ((enable-local-variables :all) (enable-local-eval t) (segue-test-ran nil) (segue-mode-was segue-mode))
     (segue-mode -1)
     (unwind-protect (progn ,@body)
       (segue-mode (if segue-mode-was 1 -1)))))

(defun segue-test-said (bounds kind)
  "Return the texts that BOUNDS mark as KIND."
  (mapcar (lambda (bound) (buffer-substring-no-properties (nth 0 bound) (nth 1 bound))) (alist-get kind bounds)))

(defun segue-test-copy (name)
  "Return a copy of the session NAME that a test may change: its folder."
  (let* ((original (plist-get (segue-test-case name) :session-dir))
         (copy (expand-file-name (file-name-nondirectory original) (make-temp-file "segue-test-" t))))
    (copy-directory original copy)
    copy))

(defvar segue-test-command (split-string (getenv "SEGUE_TEST_COMMAND") "\n")
  "The real command; its preset executor is in the home folder of the tests.")

(defmacro segue-test-on (&rest body)
  "Do BODY in `segue-mode' with the real command.
What it warns of is in the variable `warned' then."
  (declare (indent 0))
  `(let ((segue-command segue-test-command) (warned nil))
     (segue-mode 1)
     (unwind-protect
         (cl-letf (((symbol-function 'display-warning) (lambda (_ text &rest _) (push text warned)))) ,@body)
       (segue-mode -1))))

(defun segue-test-sorted (entries)
  "Return ENTRIES of an alist in one order."
  (sort (copy-sequence entries) (lambda (one other) (string< (car one) (car other)))))

(defun segue-test-main (session-dir)
  "Return the conversation of the first branch in SESSION-DIR."
  (jf/gptel--context-file-path (jf/gptel--branch-dir-path session-dir "main")))

(defun segue-test-edit (file text new)
  "Put NEW in the place of TEXT in FILE, like an editor that does not know of bounds."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8) (coding-system-for-write 'utf-8))
      (insert-file-contents file)
      (search-forward text)
      (replace-match new t t)
      (write-region nil nil file nil 'quiet))))

(provide 'segue-test-support)
;;; segue-test-support.el ends here
