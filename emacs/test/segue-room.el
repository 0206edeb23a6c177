;;; segue-room.el --- What the tests share: sessions, and a command that answers  -*- lexical-binding: t; -*-

;;; Commentary:

;; The sessions are written by tests/emacs, with the real store; expected.json says
;; what Emacs has to find in them.

;;; Code:

(require 'ert)
(require 'segue)

(defvar segue-test-folder (getenv "SEGUE_TEST_SESSIONS")
  "Where the sessions and expected.json are.")

(defvar segue-test-ran nil
  "Set by the code in hostile texts, were it ever run.")

(defun segue-test-expected ()
  "Return what has to be found: a list of plists."
  (let ((json-object-type 'plist) (json-array-type 'list))
    (json-read-file (expand-file-name "expected.json" segue-test-folder))))

(defun segue-test-case (name)
  "Return what has to be found in the session NAME."
  (or (seq-find (lambda (found) (equal (plist-get found :name) name)) (segue-test-expected))
      (error "There is no session %s" name)))

(defun segue-test-value (value)
  "Return VALUE as Lisp; a symbol is told from a text."
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
  "Do BODY in an Emacs that obeys whatever a file says."
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

(defmacro segue-test-answering (answer &rest body)
  "Do BODY in `segue-mode' with a command that answers ANSWER, a JSON text.
What it is asked is in the variable `asked' then."
  (declare (indent 1))
  `(let* ((folder (make-temp-file "segue-test-" t))
          (program (expand-file-name "segue" folder))
          (segue-command program)
          (asked (expand-file-name "asked" folder)))
     (ignore asked)
     (let ((coding-system-for-write 'utf-8))
       (write-region ,answer nil (expand-file-name "answer" folder) nil 'quiet)
       (write-region (format "#!/bin/sh\nprintf '%%s\\n' \"$@\" >> %s\ncat %s/answer\n" asked folder) nil program nil 'quiet))
     (set-file-modes program #o700)
     (segue-mode 1)
     (unwind-protect (progn ,@body)
       (segue-mode -1)
       (delete-directory folder t))))

(defun segue-test-main (session-dir)
  "Return the conversation of the first branch in SESSION-DIR."
  (jf/gptel--context-file-path (jf/gptel--branch-dir-path session-dir "main")))

(defconst segue-test-answer
  "{\"session_id\": \"from-the-command\", \"session_dir\": \"/s\", \"branch_name\": \"main\", \"branch_dir\": \"/s/branches/main\",
\"state\": \"existing\", \"preset\": \"executor\", \"settings\": {\"model\": \"gpt-4o\", \"temperature\": 0.8, \"tools\": [\"read_file\"],
\"system_message\": \"Be brief.\", \"backend\": null, \"max_tokens\": null, \"num_messages\": null},
\"overrides\": {\"temperature\": 0.8}, \"scope\": {\"paths\": {\"read\": [\"/s/**\"]}, \"org_roam_patterns\": {}, \"shell_commands\": {\"allow\": [\"ls\"]}},
\"autosave\": true, \"warnings\": []}")

(provide 'segue-room)
;;; segue-room.el ends here
