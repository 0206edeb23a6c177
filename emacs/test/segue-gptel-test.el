;;; segue-gptel-test.el --- Sessions in gptel-mode  -*- lexical-binding: t; -*-

;;; Commentary:

;; Runs with the double of gptel, and with upstream gptel, which tests/emacs finds by
;; --gptel.

;;; Code:

(require 'segue-gptel-support)

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

;;;; What is turned off

(defun segue-gptel-turn-off ()
  "Turn off, in this buffer, all that can be turned off."
  (setq-local gptel-tools nil gptel-temperature nil gptel-max-tokens nil gptel--num-messages-to-send nil)
  (set (make-local-variable (indirect-variable 'gptel--system-message)) nil))

(defun segue-gptel-check-off ()
  "Check that everything is off in this buffer."
  (should (equal (segue-all-settings)
                 `((gptel-model . ,gptel-model) (gptel--backend-name . "Test") (gptel--system-message)
                   (gptel--tool-names) (gptel-temperature) (gptel-max-tokens) (gptel--num-messages-to-send)))))

(ert-deftest segue-gptel-what-is-turned-off-stays-off ()
  (dolist (description '((:system "Be brief." :temperature 0.7 :tools ("read_file") :max-tokens 9 :num-messages-to-send 3)
                         (:description "Nothing is set here.")))
    (let* ((dir (segue-test-copy "empty")) (gptel--known-presets nil) (segue--presets nil)
           (tools (list (gptel-get-tool "read_file"))))
      (apply #'gptel-make-preset 'executor description)
      (cl-letf (((default-value 'gptel-tools) tools)
                ((default-value 'gptel-max-tokens) 100) ((default-value 'gptel-temperature) 1.0))
        (segue-test-on
          (segue-test-visiting (segue-test-main dir)
            (should (equal (segue-setting 'gptel--tool-names) '("read_file")))
            (insert "### Hi\n")
            (segue-gptel-turn-off)
            (save-buffer))
          (dotimes (_ 2)
            (let ((lines (segue-gptel-lines (segue-test-main dir))))
              (dolist (variable '(gptel--system-message gptel--tool-names gptel-temperature))
                (should (equal (alist-get variable lines) "nil"))))
            (segue-test-visiting (segue-test-main dir)
              (segue-gptel-check-off)
              (goto-char (point-min))
              (insert "### More\n")
              (save-buffer)
              (segue-gptel-check-off)))
          (let ((store (segue--store (file-name-directory dir))))
            (segue--call "add" (file-name-nondirectory dir) "From elsewhere." "--store" store))
          (segue-test-visiting (segue-test-main dir)
            (should (save-excursion (goto-char (point-min)) (search-forward "From elsewhere." nil t)))
            (segue-gptel-check-off)
            (setq-local gptel-tools tools)
            (save-buffer)
            (should-not (assq 'gptel--tool-names (segue-gptel-lines (segue-test-main dir))))))))))

(ert-deftest segue-gptel-what-the-command-turned-off-is-off-here ()
  (segue-gptel-session "settings"
    (should (segue-setting 'gptel--tool-names))
    (segue--call "gptel" "save" buffer-file-name "--set" "tools=none" "--set" "temperature=none"
                 "--set" "system-message=none" "--set" "max-tokens=none" "--set" "num-messages=none"
                 "--unset" "backend")
    (revert-buffer t t)
    (segue-gptel-check-off)))

;;;; A setting alone

(ert-deftest segue-gptel-a-setting-alone-is-saved ()
  (dolist (change '((gptel-temperature . 0.1) (gptel-tools . nil) (gptel-model . gpt-5) (gptel-max-tokens . 7)
                    (gptel-temperature . nil)))
    (ert-info ((format "%S" change))
      (segue-gptel-session "settings"
        (should-not (buffer-modified-p))
        (let ((inhibit-message t)) (segue-gptel-press "C-x C-s"))
        (set (make-local-variable (car change)) (cdr change))
        (should (buffer-modified-p))
        (segue-gptel-press "C-x C-s")
        (should-not (buffer-modified-p))
        (should (equal (alist-get (if (eq (car change) 'gptel-tools) 'gptel--tool-names (car change))
                                  (segue-gptel-lines buffer-file-name))
                       (format "%s" (cdr change))))))))

(ert-deftest segue-gptel-only-a-change-in-the-session-marks-it-as-modified ()
  (segue-gptel-session "settings"
    (let ((gptel-temperature 0.2)) (should-not (buffer-modified-p)))
    (setq-local gptel-temperature gptel-temperature)
    (with-temp-buffer (setq-local gptel-temperature 0.3) (should-not (buffer-modified-p)))
    (cl-letf (((default-value 'gptel-temperature) 0.4)) (should-not (buffer-modified-p)))
    (should-not (buffer-modified-p))))

;;;; Text in settings, and settings in text

(ert-deftest segue-gptel-a-system-message-may-contain-the-words-of-a-footer ()
  (dolist (words '("Local Variables:\nEnd:" "LOCAL VARIABLES: x" "local variables:\\1 \\s & \\&" "<!-- Local Variables: -->\n<!-- End: -->"))
    (dolist (rest (list "" (make-string 4000 ?x)))
      (ert-info (words)
        (segue-gptel-session "empty"
          (let ((message (concat words "\n" rest words)))
            (insert "### Hi\n\n" (propertize "Hello." 'gptel 'response) "\n")
            (set (make-local-variable (indirect-variable 'gptel--system-message)) message)
            (setq-local gptel-temperature 0.2)
            (save-buffer)
            (set-buffer-modified-p t)
            (save-buffer)
            (should (equal (segue-gptel-footer)
                           (if (equal rest "") '(gptel--preset gptel--system-message gptel-temperature gptel--bounds)
                             '(gptel--system-message gptel--preset gptel-temperature gptel--bounds))))
            (should (equal (alist-get 'gptel--system-message (segue-footer-read)) message))
            (should (equal (plist-get (plist-get (segue--open jf/gptel--branch-dir) :overrides) :system-message)
                           message))))))))

;;;; Typing at the end

(ert-deftest segue-gptel-the-footer-is-never-sent ()
  (segue-gptel-session "settings"
    (goto-char (point-max))
    (segue-gptel-press "M o r e ?")
    (should (equal (segue-gptel-sent) "### Hello?\n\nHello.\n\n### More?"))
    (goto-char (point-max))
    (let ((sent (segue-gptel-sent)))
      (should-not (string-match-p "gptel-\\|segue" sent)))
    (goto-char (point-max))
    (insert "pasted")                   ; by a program: no command was called
    (should (string-suffix-p "pasted" (segue-gptel-sent)))
    (should-not (string-match-p "gptel-\\|segue\\|\f" (segue-gptel-sent)))
    (should (< (point) (segue-footer-start)))
    (transient-mark-mode 1)
    (goto-char (point-max))
    (push-mark (point-min) t t)
    (should-not (string-match-p "gptel-\\|segue\\|\f\\|Variables" (segue-gptel-sent)))
    (goto-char (+ (segue-footer-start) 20))
    (should-not (string-match-p "gptel-\\|segue\\|\f" (segue-gptel-sent)))
    (deactivate-mark)
    (save-buffer)
    (should (save-excursion (goto-char (point-min)) (search-forward "More?\npasted" (segue-footer-start) t)))))

(ert-deftest segue-gptel-what-is-typed-at-the-end-is-part-of-the-conversation ()
  (segue-gptel-session "settings"
    (let ((footer (segue-footer-read)))
      (dolist (place (list #'point-max (lambda () (+ 5 (segue-footer-start))) #'segue-footer-start))
        (goto-char (funcall place))
        (segue-gptel-press "o n e SPC"))
      (goto-char (point-max))
      (kill-new "two")
      (segue-gptel-press "C-y")
      (should (equal (buffer-substring-no-properties (line-beginning-position) (point)) "### one one one two"))
      (should (looking-at-p "\n\f\n<!-- segue "))
      (segue-gptel-press "C-x C-s")
      (should (equal (assq-delete-all 'gptel--bounds (segue-footer-read)) (assq-delete-all 'gptel--bounds footer)))
      (should (equal (plist-get (car (last (plist-get (segue--call "show" jf/gptel--session-id "--store"
                                                                   (segue--store (file-name-directory jf/gptel--session-dir)))
                                                      :turns)))
                                :content)
                     "one one one two")))))

;;;; Presets of gptel

(ert-deftest segue-gptel-a-preset-that-only-gptel-has-is-good-for-a-new-session ()
  (let ((gptel--known-presets nil) (segue--presets nil)
        (jf/gptel-sessions-directory (make-temp-file "segue-test-" t)))
    (gptel-make-preset 'mine :system "Arr." :temperature 0.2)
    (segue-test-on
      (dolist (name '(mine "mine"))
        (jf/gptel-persistent-session "Paging" name)
        (let ((file buffer-file-name))
          (unwind-protect
              (progn
                (should (eq gptel--preset 'mine))
                (should (equal gptel-temperature 0.2))
                (insert "### Hi")
                (save-buffer))
            (kill-buffer))
          (segue-test-visiting file
            (should (eq gptel--preset 'mine))
            (should (equal (segue-gptel-footer) '(gptel--preset gptel--bounds))))))
      (should-error (jf/gptel-persistent-session "Paging" 'nobody) :type 'user-error)
      (should-not warned))))

;;;; Sessions while segue-mode is off

(ert-deftest segue-gptel-a-session-that-is-made-outside-of-segue-mode-is-one ()
  (let ((gptel--known-presets nil) (segue--presets nil) (segue-command segue-test-command)
        (jf/gptel-sessions-directory (make-temp-file "segue-test-" t)))
    (segue-mode -1)
    (unwind-protect
        (progn
          (jf/gptel-persistent-session "Paging")
          (should gptel-mode)
          (should (eq gptel--preset 'executor))
          (should (eq gptel-model 'gpt-4o))
          (should (eq (plist-get (jf/gptel--registry-get jf/gptel--session-id "main") :buffer) (current-buffer)))
          (let ((file buffer-file-name))
            (segue-mode -1)
            (kill-buffer)
            (find-file file)            ; a plain buffer
            (should-not jf/gptel--session-id)
            (segue--visit (directory-file-name (file-name-directory file)))
            (should gptel-mode)
            (should jf/gptel--session-id)))
      (set-buffer-modified-p nil)
      (kill-buffer)
      (segue-mode -1))))

;;;; Damage

(ert-deftest segue-gptel-damage-is-reported-and-recovery-keeps-what-was-written-since ()
  (let ((dir (segue-test-copy "plain")) (gptel--known-presets nil) (segue--presets nil))
    (segue-test-edit (expand-file-name ".segue/events.jsonl" dir) "Hello?" "hello!")
    (segue-test-on
      (segue-test-visiting (segue-test-main dir)
        (should (string-match-p "segue-recover" (car warned)))
        (should (string-match-p "is damaged at .segue/events.jsonl line" (cadr warned)))
        (should gptel-mode)
        (goto-char (point-max))
        (segue-gptel-press "M o r e ?")
        (setq warned nil)
        (segue-recover)
        (should-not warned)
        (should (save-excursion (goto-char (point-min)) (search-forward "More?" (segue-footer-start) t)))
        (let ((said (plist-get (segue--call "show" jf/gptel--session-id "--store"
                                            (segue--store (file-name-directory jf/gptel--session-dir)))
                               :turns)))
          (should (equal (mapcar (lambda (turn) (plist-get turn :content)) said) '("Hello?" "Hello." "More?"))))
        (should-error (segue-recover) :type 'user-error)))))

(provide 'segue-gptel-test)
;;; segue-gptel-test.el ends here
