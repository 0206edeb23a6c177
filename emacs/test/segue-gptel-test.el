;;; segue-gptel-test.el --- Sessions in gptel-mode  -*- lexical-binding: t; -*-

;;; Commentary:

;; Runs with upstream gptel, which tests/emacs/test_emacs.py finds by --gptel.

;;; Code:

(require 'compat)
(eval-and-compile
  (unless (fboundp 'static-if)          ; Emacs 28 lacks it, and gptel wants it
    (defmacro static-if (condition then &rest else)
      (declare (indent 2))
      (if (eval condition lexical-binding) then (macroexp-progn else)))))
(require 'gptel)
(require 'gptel-openai)
(load "userlock" nil t)                ; it would undo what tests do to it when it is loaded
(require 'segue-test-support)

(gptel-make-openai "Test" :key "none" :models '(gpt-4o gpt-5))
(gptel-make-openai "Other" :key "none" :models '(other-1))
(setq-default gptel-backend (gptel-get-backend "Test") gptel-model 'gpt-5)
(gptel-make-tool :name "read_file" :function #'ignore :description "Read." :args nil)

(defmacro segue-gptel-session (name &rest body)
  "Do BODY in a copy of the session NAME, in `gptel-mode' with the preset executor.
The preset is what gptel has been told of it, which is nothing at first."
  (declare (indent 1))
  `(let* ((dir (segue-test-copy ,name)) (gptel--known-presets nil) (segue--presets nil))
     (segue-test-on (segue-test-visiting (segue-test-main dir) ,@body))))

(defun segue-gptel-footer ()
  "Return the names of the variables in the one footer of this file, as saved."
  (let ((file buffer-file-name))
    (with-temp-buffer
      (insert-file-contents file)
      (should (= (how-many (regexp-quote segue-footer--begin) (segue-footer-start)) 1))
      (mapcar #'car (cdr (segue-footer--take))))))

;;;; Restoring

(ert-deftest segue-gptel-restores-the-bounds-that-segue-wrote ()
  (dolist (expected (segue-test-expected))
    (let ((segue-test-command "/nowhere/segue")) ; the footer alone says as much
      (segue-gptel-check-bounds expected)))
  (dolist (name '("long" "non-ascii" "tools" "two-questions"))
    (segue-gptel-check-bounds (segue-test-case name))))

(defun segue-gptel-check-bounds (expected)
  "Check that gptel knows who wrote what in EXPECTED."
  (ert-info ((plist-get expected :name))
    (segue-gptel-session (plist-get expected :name)
      (should gptel-mode)
      (let ((bounds (alist-get 'gptel--bounds (segue-footer-read))))
        (should (equal (segue-test-sorted (gptel--get-buffer-bounds)) (segue-test-sorted bounds)))
        (should (equal (segue-test-said (gptel--get-buffer-bounds) 'response) (plist-get expected :answers)))))))

(ert-deftest segue-gptel-marks-the-answers-of-a-text-that-another-editor-changed ()
  (let ((dir (segue-test-copy "plain")) (gptel--known-presets nil) (segue--presets nil))
    (segue-test-edit (segue-test-main dir) "Hello?" "Hello, größer?")
    (segue-test-on
      (segue-test-visiting (segue-test-main dir)
        (should (equal (segue-test-said (gptel--get-buffer-bounds) 'response) '("Hello.")))))))

(ert-deftest segue-gptel-has-the-preset-and-what-was-saved-over-it ()
  (segue-gptel-session "settings"
    (should (eq gptel--preset 'executor))
    (should (eq gptel-model 'gpt-4o))
    (should (equal gptel-temperature 0.8))
    (should (equal gptel-max-tokens 4000))
    (should (equal gptel--num-messages-to-send 6))
    (should (equal (segue-setting 'gptel--tool-names) '("read_file")))
    (should (string-prefix-p "Speak like" (segue-setting 'gptel--system-message)))))

(ert-deftest segue-gptel-alone-lets-the-preset-win-over-the-saved-temperature ()
  (let ((gptel--known-presets nil) (enable-local-variables :all)
        (copy (make-temp-file "segue-test-" nil ".md")))
    (gptel-make-preset 'executor :system "You are an executor." :temperature 0.5)
    (copy-file (expand-file-name "preset-and-temperature.md" (getenv "SEGUE_TEST_CORPUS")) copy t)
    (segue-test-visiting copy
      (text-mode)
      (hack-local-variables)
      (gptel-mode 1)
      (should (equal gptel-temperature 0.5))
      (should (equal (gptel--get-buffer-bounds) '((response (25 50) (67 71))))))))

(ert-deftest segue-gptel-with-segue-lets-what-was-saved-win ()
  (let ((gptel--known-presets nil)
        (dir (segue-test-copy "empty")))
    (gptel-make-preset 'executor :system "You are an executor." :temperature 0.5)
    (copy-file (expand-file-name "preset-and-temperature.md" (getenv "SEGUE_TEST_CORPUS")) (segue-test-main dir) t)
    (segue-test-on
      (segue-test-visiting (segue-test-main dir)
        (should (equal gptel-temperature 0.8))
        (should (equal (segue-setting 'gptel--system-message) "You are an executor."))
        (should (equal (gptel--get-buffer-bounds) '((response (25 50) (67 71)))))))))

(ert-deftest segue-gptel-applies-the-preset-of-a-new-session ()
  (segue-gptel-session "empty"
    (should gptel-mode)
    (should (eq gptel--preset 'executor))
    (should (eq gptel-model 'gpt-4o))
    (should (equal (segue-setting 'gptel--system-message) "Be brief."))
    (should (local-variable-p 'gptel-model))
    (should (eq (default-value 'gptel-model) 'gpt-5))))

;;;; Saving

(ert-deftest segue-gptel-saves-only-the-preset-and-the-bounds-of-a-new-session ()
  (segue-gptel-session "empty"
    (insert "### Hi\n\n" (propertize "Hello." 'gptel 'response) "\n")
    (save-buffer)
    (should (equal (segue-gptel-footer) '(gptel--preset gptel--bounds)))
    (should (equal (alist-get 'gptel--bounds (segue-footer-read)) '((response (9 15)))))))

(ert-deftest segue-gptel-saves-a-temperature-that-differs-and-nothing-else ()
  (segue-gptel-session "empty"
    (insert "### Hi\n")
    (setq-local gptel-temperature 0.3)
    (save-buffer)
    (should (equal (segue-gptel-footer) '(gptel--preset gptel-temperature gptel--bounds)))
    (setq-local gptel-temperature 0.7)
    (set-buffer-modified-p t)
    (save-buffer)
    (should (equal (segue-gptel-footer) '(gptel--preset gptel--bounds)))))

(ert-deftest segue-gptel-saves-a-temperature-that-is-the-default-of-gptel ()
  (segue-gptel-session "settings"
    (setq-local gptel-temperature (default-value 'gptel-temperature))
    (set-buffer-modified-p t)
    (save-buffer)
    (should (equal (alist-get 'gptel-temperature (segue-footer-read)) (default-value 'gptel-temperature)))))

(ert-deftest segue-gptel-alone-saves-model-and-backend-although-nobody-changed-them ()
  (let ((gptel--known-presets nil) (file (make-temp-file "segue-test-" nil ".md")))
    (gptel-make-preset 'executor :system "You are an executor.")
    (segue-test-visiting file
      (text-mode)
      (gptel--apply-preset 'executor (lambda (variable value) (set (make-local-variable variable) value)))
      (gptel-mode 1)
      (insert "### Hi\n")
      (save-buffer)
      (goto-char (point-max))
      (should (search-backward "gptel--backend-name" nil t))
      (should (search-backward "gptel-model" nil t)))))

(ert-deftest segue-gptel-a-value-that-matches-the-preset-again-is-not-saved ()
  (segue-gptel-session "empty"
    (insert "### Hi\n")
    (setq-local gptel-model 'gpt-5)
    (setq-local gptel-system-prompt "Other." gptel--system-message "Other.")
    (save-buffer)
    (should (equal (segue-gptel-footer) '(gptel--preset gptel-model gptel--system-message gptel--bounds)))
    (setq-local gptel-model 'gpt-4o)
    (setq-local gptel-system-prompt "Be brief." gptel--system-message "Be brief.")
    (set-buffer-modified-p t)
    (save-buffer)
    (should (equal (segue-gptel-footer) '(gptel--preset gptel--bounds)))))

(ert-deftest segue-gptel-keeps-what-it-does-not-know-and-nobody-changed ()
  (segue-gptel-session "settings"
    (let ((before (segue-footer-read)))
      (insert "More?")
      (save-buffer)
      (setq before (assq-delete-all 'gptel--bounds before))
      (should (equal (segue-test-sorted before)
                     (segue-test-sorted (assq-delete-all 'gptel--bounds (segue-footer-read)))))
      (should (equal (alist-get 'gptel--tool-names before) '("read_file" "list_dir"))))))

(ert-deftest segue-gptel-saves-a-long-conversation-into-one-footer ()
  (segue-gptel-session "long"
    (let ((mark (progn (goto-char (segue-footer-start)) (re-search-forward "^<!-- segue .* -->$") (match-string 0)))
          (answers (plist-get (segue-test-case "long") :answers)))
      (goto-char (point-min))
      (insert "### ö\n\n")
      (dotimes (_ 3)
        (set-buffer-modified-p t)
        (save-buffer))
      (should (equal (segue-gptel-footer) '(gptel--bounds gptel--preset gptel-temperature)))
      (should (< (- (point-max) (save-excursion (goto-char (point-max)) (search-backward segue-footer--begin))) 3000))
      (should (equal (segue-test-said (alist-get 'gptel--bounds (segue-footer-read)) 'response) answers))
      (should (save-excursion (goto-char (segue-footer-start)) (search-forward mark nil t))))))

(ert-deftest segue-gptel-writes-nothing-into-a-text-like-a-footer ()
  (segue-gptel-session "empty"
    (let ((text (format "### What is this?\n\n%s\n<!-- gptel-temperature: 2 -->\n<!-- End: -->\n" segue-footer--begin)))
      (insert text)
      (save-buffer)
      (should (string-prefix-p text (buffer-string)))
      (should (equal (segue-gptel-footer) '(gptel--preset gptel--bounds))))))

(ert-deftest segue-gptel-a-text-typed-below-the-footer-is-kept-above-it ()
  (segue-gptel-session "settings"
    (goto-char (point-max))
    (insert "I typed this below.\n")
    (save-buffer)
    (should (< (save-excursion (goto-char (point-min)) (search-forward "typed this below")) (segue-footer-start)))
    (should (memq 'gptel-temperature (segue-gptel-footer)))))

(ert-deftest segue-gptel-a-failure-to-save-the-settings-costs-no-text ()
  (segue-gptel-session "settings"
    (insert "More?")
    (cl-letf (((symbol-function 'gptel--save-state) (lambda () (insert "half") (error "No"))))
      (save-buffer))
    (should-not (buffer-modified-p))
    (should (save-excursion (goto-char (point-min)) (search-forward "More?" nil t)))
    (should-not (save-excursion (goto-char (point-min)) (search-forward "half" nil t)))
    (should (equal (alist-get 'gptel-temperature (segue-footer-read)) 0.8))))

(ert-deftest segue-gptel-saves-after-an-answer ()
  (segue-gptel-session "settings"
    (insert "More?")
    (run-hook-with-args 'gptel-post-response-functions (point-min) (point))
    (should-not (buffer-modified-p))))

;;;; Streamed answers

(defun segue-gptel-streaming ()
  "Return the state of gptel for an answer that arrives at point."
  (let ((info (list :buffer (current-buffer) :position (point-marker) :stream t :http-status "200")))
    (save-excursion (run-hooks 'gptel-pre-response-hook))
    info))

(defun segue-gptel-check-one-answer (answer)
  "Check that ANSWER is one answer, here and in the file."
  (should (equal (segue-test-said (gptel--get-buffer-bounds) 'response) (list answer)))
  (should (equal (segue-test-said (alist-get 'gptel--bounds (segue-footer-read)) 'response) (list answer)))
  (should (< (save-excursion (goto-char (point-min)) (search-forward answer)) (segue-footer-start))))

(ert-deftest segue-gptel-a-save-while-the-first-answer-comes-in-does-not-cut-it ()
  (dolist (save (list #'save-buffer (lambda () (do-auto-save t)) #'segue-autosave-all))
    (segue-gptel-session "empty"
      (insert "### Hi")
      (let ((info (segue-gptel-streaming)))
        (gptel-curl--stream-insert-response "One " info)
        (funcall save)
        (should-not (buffer-modified-p))
        (gptel-curl--stream-insert-response "two " info)
        (funcall save)
        (segue-gptel-check-one-answer "One two ")
        (gptel-curl--stream-insert-response "three." info)
        (run-hook-with-args 'gptel-post-response-functions (plist-get info :position) (point))
        (segue-gptel-check-one-answer "One two three.")
        (let ((said (plist-get (segue--call "show" jf/gptel--session-id "--store"
                                            (segue--store (file-name-directory jf/gptel--session-dir)))
                               :turns)))
          (should (equal (mapcar (lambda (turn) (plist-get turn :content)) said) '("Hi" "One two three."))))))))

(ert-deftest segue-gptel-an-answer-that-segue-took-in-half-way-is-one-answer-in-the-end ()
  (segue-gptel-session "empty"
    (insert "### Hi")
    (let ((info (segue-gptel-streaming)) (store (segue--store (file-name-directory jf/gptel--session-dir))))
      (gptel-curl--stream-insert-response "One " info)
      (save-buffer)
      (segue--call "add" jf/gptel--session-id "Meanwhile." "--store" store)
      (cl-letf (((symbol-function 'yes-or-no-p) #'always)
                ((symbol-function 'ask-user-about-supersession-threat) #'ignore))
        (gptel-curl--stream-insert-response "two." info)
        (save-buffer))
      (should (equal (mapcar (lambda (turn) (plist-get turn :content))
                             (plist-get (segue--call "show" jf/gptel--session-id "--store" store) :turns))
                     '("Hi" "One two." "Meanwhile."))))))

(ert-deftest segue-gptel-marks-the-answers-anew-when-the-file-is-read-again ()
  (dolist (keeps-modes '(t nil))
    (segue-gptel-session "plain"
      (segue--call "add" jf/gptel--session-id "Another answer." "--role" "assistant"
                   "--store" (segue--store (file-name-directory jf/gptel--session-dir)))
      (revert-buffer t t keeps-modes)
      (should gptel-mode)
      (should (equal (segue-test-said (gptel--get-buffer-bounds) 'response) '("Hello." "Another answer.")))
      (goto-char (1- (segue-footer-start)))
      (insert "More?")
      (save-buffer)
      (should (equal (segue-test-said (alist-get 'gptel--bounds (segue-footer-read)) 'response)
                     '("Hello." "Another answer."))))))

(ert-deftest segue-gptel-a-system-message-with-properties-is-saved-without ()
  (segue-gptel-session "empty"
    (insert "### Hi\n")
    (setq-local gptel--system-message (propertize "Other." 'face 'bold))
    (when (boundp 'gptel-system-prompt) (setq-local gptel-system-prompt (propertize "Other." 'face 'bold)))
    (save-buffer)
    (should (equal (alist-get 'gptel--system-message (segue-footer-read)) "Other."))))

(provide 'segue-gptel-test)
;;; segue-gptel-test.el ends here
