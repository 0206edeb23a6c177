;;; segue-test.el --- What segue.el does in a real Emacs  -*- lexical-binding: t; -*-

;;; Commentary:

;; Without gptel; segue-gptel-test.el has what needs it.

;;; Code:

(require 'ert)
(require 'segue-test-support)

;;;; Emacs's own code reads the footer

(ert-deftest segue-emacs-reads-the-footer-itself ()
  (segue-test-gullible
    (dolist (expected (segue-test-expected))
      (segue-test-visiting (plist-get expected :file)
        (ert-info ((plist-get expected :name))
          (let ((variables (plist-get expected :variables)))
            (while variables
              (let ((variable (intern (substring (symbol-name (pop variables)) 1)))
                    (value (segue-test-value (pop variables))))
                (should (local-variable-p variable))
                (should (equal (symbol-value variable) value))))))))))

(ert-deftest segue-every-variable-of-the-footer-is-safe-without-asking ()
  (let ((enable-local-variables :safe) (enable-local-eval nil))
    (segue-test-visiting (plist-get (segue-test-case "settings") :file)
      (should (equal gptel-temperature 0.8))
      (should (equal gptel-max-tokens 4000))
      (should (equal gptel--tool-names '("read_file" "list_dir"))))))

(ert-deftest segue-bounds-count-characters-as-emacs-does ()
  (segue-test-gullible
    (dolist (expected (segue-test-expected))
      (segue-test-visiting (plist-get expected :file)
        (ert-info ((plist-get expected :name))
          (let ((bounds (alist-get 'gptel--bounds (segue-footer-read))))
            (should (equal (segue-test-said bounds 'response) (plist-get expected :answers)))
            (should (equal (segue-test-said bounds 'tool) (plist-get expected :results)))))))))

(ert-deftest segue-hostile-text-sets-no-variable-and-runs-nothing ()
  (segue-test-gullible
    (dolist (expected (segue-test-expected))
      (segue-test-visiting (plist-get expected :file)
        (ert-info ((plist-get expected :name))
          (should-not segue-test-ran)
          (should-not (boundp 'segue-test-planted))
          (should-not (derived-mode-p 'emacs-lisp-mode))
          (dolist (entry file-local-variables-alist)
            (should (assq (car entry) segue--variables))
            (should (or (eq (car entry) 'gptel--bounds)
                        (plist-member (plist-get expected :variables)
                                      (intern (format ":%s" (car entry))))))))))))

(ert-deftest segue-emacs-reads-the-settings-of-three-hundred-answers ()
  (let ((expected (segue-test-case "long")))
    (segue-test-gullible
      (segue-test-visiting (plist-get expected :file)
        (should (= (length (plist-get expected :answers)) 300))
        (should (> (- (point-max) (segue-footer-start)) 3000))
        (should (equal (segue-test-sorted file-local-variables-alist)
                       '((gptel--preset . executor) (gptel-temperature . 0.8))))
        (let ((found (segue-footer-read)))
          (should (equal (alist-get 'gptel-temperature found) 0.8))
          (should (eq (alist-get 'gptel--preset found) 'executor))
          (should (equal (segue-test-said (alist-get 'gptel--bounds found) 'response)
                         (plist-get expected :answers))))))))

(ert-deftest segue-a-long-footer-is-written-as-segue-writes-it ()
  (segue-test-visiting (plist-get (segue-test-case "long") :file)
    (let ((before (buffer-string)) (start (segue-footer-start)))
      (pcase-let ((`(,mark . ,variables) (segue-footer--take)))
        (should (= (point-max) start))
        (segue-footer--put mark variables)
        (should (equal (buffer-string) before))))))

(ert-deftest segue-the-name-that-newer-gptels-give-the-system-message-is-read ()
  (with-temp-buffer
    (insert "### Hi\n\f\n<!-- Local Variables: -->\n<!-- gptel-system-prompt: \"Hm.\" -->\n<!-- End: -->\n")
    (should (equal (segue-footer-read) '((gptel--system-message . "Hm."))))))

(ert-deftest segue-files-that-gptel-wrote-are-read ()
  (segue-test-visiting (expand-file-name "preset-and-temperature.md" (getenv "SEGUE_TEST_CORPUS"))
    (let ((found (segue-footer-read)))
      (should (eq (alist-get 'gptel--preset found) 'executor))
      (should (equal (alist-get 'gptel-temperature found) 0.8))
      (should (equal (segue-test-said (alist-get 'gptel--bounds found) 'response)
                     '("Use cursors.\n\nGröße 😀 ok." "Yes.")))))
  (segue-test-visiting (expand-file-name "system-and-tool.md" (getenv "SEGUE_TEST_CORPUS"))
    (let ((found (segue-footer-read)))
      (should (equal (alist-get 'gptel--system-message found) "Speak like a \"pirate\".\nArr."))
      (should (equal (segue-test-said (alist-get 'gptel--bounds found) 'tool)
                     '("(:name \"list_dir\" :args (:path \".\"))\n\na.txt\nb.txt\n")))))
  (segue-test-visiting (expand-file-name "hostile.md" (getenv "SEGUE_TEST_CORPUS"))
    (should-not (segue-footer-read))))

(ert-deftest segue-unsound-values-of-a-footer-are-left-out ()
  (with-temp-buffer
    (insert "### Hi\n\f\n<!-- Local Variables: -->\n<!-- gptel-temperature: hot -->\n<!-- gptel--tool-names: (1 2) -->\n"
            "<!-- eval: (setq segue-test-ran t) -->\n<!-- gptel-max-tokens: #1=(#1#) -->\n<!-- gptel--bounds: ((response (1 -->\n"
            "<!-- gptel-model: gpt-4o -->\n<!-- End: -->\n")
    (should (equal (segue-footer-read) '((gptel-model . gpt-4o))))
    (should-not segue-test-ran)))

(ert-deftest segue-bounds-outside-of-the-text-are-left-out ()
  (with-temp-buffer
    (insert "0123456789")
    (should (equal (segue-footer-fitting '((response (2 4) (8 40)) (tool (3 5 "x"))))
                   '((response (2 4)) (tool (3 5 "x")))))
    (should (equal (segue-footer-fitting '((2 . 4) (8 . 40))) '((2 . 4))))
    (should-not (segue-footer-fitting nil))))

;;;; Visiting

(ert-deftest segue-a-session-file-becomes-a-session ()
  (let* ((dir (segue-test-copy "settings")) (id (file-name-nondirectory dir)))
    (segue-test-on
      (segue-test-visiting (segue-test-main dir)
        (should (equal jf/gptel--session-id id))
        (should (equal jf/gptel--session-dir (file-truename dir)))
        (should (equal jf/gptel--branch-name "main"))
        (should (equal jf/gptel--branch-dir (jf/gptel--branch-dir-path (file-truename dir) "main")))
        (should (eq jf/gptel-autosave-enabled t))
        (should (equal (plist-get jf/gptel--scope :shell-commands) '(:allow ("ls") :deny nil)))
        (should (equal jf/gptel--scope (jf/gptel--read-scope jf/gptel--branch-dir)))
        (should (eq (plist-get (jf/gptel--registry-get id "main") :buffer) (current-buffer)))
        (should-not (plist-member (jf/gptel--registry-get id "main") :preset))
        (should (eq gptel--preset 'executor))
        (should (derived-mode-p 'text-mode)))
      (should-not (jf/gptel--registry-get id "main"))
      (should-not warned))))

(ert-deftest segue-what-was-saved-wins-over-the-preset ()
  (segue-test-on
    (segue-test-visiting (segue-test-main (segue-test-copy "settings"))
      (should (equal gptel-temperature 0.8))
      (should (equal gptel-max-tokens 4000)))))

(ert-deftest segue-bounds-are-those-of-the-text-as-it-is-now ()
  (let ((dir (segue-test-copy "plain")))
    (segue-test-edit (segue-test-main dir) "Hello?" "Hello, größer?\n\n### And?")
    (segue-test-on
      (segue-test-visiting (segue-test-main dir)
        (should (equal (segue-test-said gptel--bounds 'response) '("Hello.")))
        (should-not (equal gptel--bounds (alist-get 'gptel--bounds (segue-footer-read))))))))

(ert-deftest segue-a-new-session-gets-its-settings-from-the-preset ()
  (segue-test-on
    (segue-test-visiting (segue-test-main (segue-test-copy "empty"))
      (should (= (buffer-size) 0))
      (should (eq gptel--preset 'executor))
      (should (eq gptel-model 'gpt-4o))
      (should (equal gptel-temperature 0.7))
      (should (equal (symbol-value (indirect-variable 'gptel--system-message)) "Be brief."))
      (should-not (buffer-modified-p)))))

(ert-deftest segue-a-legacy-session-with-an-unknown-preset-has-none ()
  (let ((dir (segue-test-copy "empty")))
    (write-region "---\npreset: mine\nmodel: gpt-5\n---\nSpeak plainly.\n" nil
                  (expand-file-name "preset.md" (file-name-directory (segue-test-main dir))) nil 'quiet)
    (segue-test-on
      (segue-test-visiting (segue-test-main dir)
        (should-not gptel--preset)
        (should (eq gptel-model 'gpt-5))
        (should (string-match-p "a preset 'mine' that is not known here" (string-join warned)))))))

(ert-deftest segue-the-link-to-the-current-branch-leads-to-the-session ()
  (segue-test-on
    (segue-test-visiting (expand-file-name "current/session.md" (segue-test-copy "settings"))
      (should (equal jf/gptel--branch-name "main")))))

(ert-deftest segue-other-files-are-left-alone ()
  (let ((folder (make-temp-file "segue-test-" t)))
    (segue-test-on
      (dolist (name '("notes.md" "session.md" "branches/session.md" "branches/main/session.md.bak"))
        (let ((file (expand-file-name name folder)))
          (make-directory (file-name-directory file) t)
          (write-region "text" nil file nil 'quiet)
          (segue-test-visiting file
            (should-not jf/gptel--session-id)
            (should-not warned)))))))

(ert-deftest segue-the-guard-looks-at-nothing-but-the-name ()
  (with-temp-buffer
    (setq buffer-file-name "/nowhere/at/all.md")
    (cl-letf (((symbol-function 'segue--place) (lambda (_) (error "It looked"))))
      (segue-find-file))
    (setq buffer-file-name nil)
    (segue-find-file)))

(ert-deftest segue-a-session-opens-without-the-command ()
  (let ((dir (segue-test-copy "settings")))
    (segue-test-on
      (dolist (segue-command `("/nowhere/segue" "echo" (,@segue-test-command "nowhere")))
        (segue-test-visiting (segue-test-main dir)
          (should (equal jf/gptel--session-id (file-name-nondirectory dir)))
          (should (equal gptel-temperature 0.8))
          (should (segue-test-said gptel--bounds 'response))
          (should jf/gptel-autosave-enabled)
          (should (> (buffer-size) 0))))
      (should (equal (length warned) 3))
      (should (string-match-p "\\`Segue: .*nowhere" (car warned)))
      (should (equal (cadr warned) "Segue: the output of echo is not JSON")))))

(ert-deftest segue-the-id-inside-an-activity-is-in-its-metadata ()
  (let* ((dir (segue-test-activity "settings")) (id (plist-get (segue-test-case "settings") :session-id)))
    (segue-test-on
      (let ((segue-command "/nowhere/segue"))
        (segue-test-visiting (segue-test-main dir)
          (should (equal jf/gptel--session-id id))))
      (segue-test-visiting (segue-test-main dir)
        (should (equal jf/gptel--session-id id))))))

(defun segue-test-activity (name)
  "Return a copy of the session NAME inside an activity: its folder."
  (let ((dir (expand-file-name "session" (make-temp-file "segue-test-" t))))
    (copy-directory (plist-get (segue-test-case name) :session-dir) dir nil nil t)
    dir))

(ert-deftest segue-point-is-before-the-footer ()
  (let ((dir (segue-test-copy "settings")))
    (segue-test-on
      (segue-test-visiting (segue-test-main dir)
        (should (looking-at-p "\n\f"))
        (should (equal (buffer-substring (line-beginning-position) (point)) "### "))))))

;;;; Footers of others

(ert-deftest segue-a-footer-in-any-comment-syntax-is-read ()
  (dolist (around '((";; " . "") ("# " . "") ("" . "") ("/* " . " */") ("<!-- " . " -->")))
    (dolist (feed '("" "\f\n" "\f" "typed\f\n"))
      (with-temp-buffer
        (insert "### Hi\n\nHello.\n" feed)
        (dolist (line '("Local Variables:" "gptel-temperature: 0.8" "gptel--bounds: ((response (9 15)))" "End:"))
          (insert (car around) line (cdr around) "\n"))
        (ert-info ((format "%S %S" around feed))
          (should (equal (segue-test-sorted (segue-footer-read))
                         (if (equal feed "\f")
                             (and (equal (car around) "") nil)
                           '((gptel--bounds (response (9 15))) (gptel-temperature . 0.8))))))))))

(ert-deftest segue-what-was-typed-on-the-line-of-the-form-feed-is-kept-and-the-footer-is-found ()
  (segue-test-visiting (segue-test-main (segue-test-copy "settings"))
    (let ((before (segue-footer-read)))
      (goto-char (segue-footer-start))
      (forward-char 1)
      (insert "typed here")
      (should (equal (segue-footer-read) before))
      (pcase-let ((`(,mark . ,variables) (segue-footer--take)))
        (should (string-match-p "\\`<!-- segue " mark))
        (should (save-excursion (goto-char (point-min)) (search-forward "typed here" nil t)))
        (should-not (save-excursion (goto-char (point-min)) (search-forward "\f" nil t)))
        (segue-footer--put mark variables)
        (should (equal (segue-footer-read) before))))))

(ert-deftest segue-no-property-of-a-text-comes-from-a-footer ()
  (dolist (text '("#(\"x\" 0 1 (display (when (setq segue-test-ran t) . \"y\")))" "(#(\"x\" 0 1 (face bold)))"
                  "#s(hash-table)" "#[0 \"\" [] 1]" "#1=(#1#)" "#.(setq segue-test-ran t)" "'x" "`(,x)" "[x]" "?a" "#'x"
                  "(1 . 2 3)" "1 2" "\"open" "(open" ")" "" "." "#:x" "##" "99999999999999999999" "1e999"))
    (ert-info (text) (should-error (segue-read text) :type 'segue-bad-value)))
  (should-error (segue-read (concat (make-string 51 ?\() (make-string 51 ?\)))) :type 'segue-bad-value)
  (should-not segue-test-ran))

(ert-deftest segue-plain-values-come-back ()
  (dolist (value '(1 -5 0.8 1e-07 "a\n\"b\\\t\f" nil t gpt-4o (1 "x" (y . 2) ((z))) ((1 . 2) (3 . 4)) \two\ words \4 \#b \?a))
    (should (equal (segue-read (segue-printed value)) value)))
  (should (equal (segue-printed (list (propertize "x" 'face 'bold) 1)) "(\"x\" 1)"))
  (let ((print-length 1) (print-level 1)) (should (equal (segue-printed '((1 2) 3)) "((1 2) 3)"))))

(ert-deftest segue-a-directory-chooses-nothing-for-a-session ()
  (let* ((dir (segue-test-copy "settings")) (segue-test-ran nil) (enable-local-variables :all) (enable-local-eval t))
    (write-region "((nil . ((gptel-temperature . 2) (gptel--tool-names . (#(\"x\" 0 1 (face bold)))) (fill-column . 33)
                             (eval . (setq segue-test-ran t)))))" nil
                  (expand-file-name ".dir-locals.el" dir) nil 'quiet)
    (segue-test-on
      (segue-test-visiting (segue-test-main dir)
        (should (equal gptel-temperature 0.8))
        (should (segue-plain-p gptel--tool-names))
        (should (equal fill-column 33))
        (should-not segue-test-ran)))))

;;;; Reading the file again

(ert-deftest segue-a-buffer-that-is-read-again-knows-who-said-what ()
  (dolist (keeps-modes '(t nil))
    (let ((dir (segue-test-copy "plain")))
      (segue-test-on
        (segue-test-visiting (segue-test-main dir)
          (segue--call "add" (file-name-nondirectory dir) "Another answer." "--role" "assistant"
                       "--store" (segue--store (file-name-directory dir)))
          (revert-buffer t t keeps-modes)
          (should (equal (segue-test-said gptel--bounds 'response) '("Hello." "Another answer.")))
          (should (equal jf/gptel--branch-name "main"))
          (should (jf/gptel--registry-get jf/gptel--session-id "main"))
          (should-not warned))))))

;;;; Saving

(ert-deftest segue-auto-save-saves-sessions-and-nothing-else ()
  (let ((dir (segue-test-copy "settings")))
    (segue-test-on
      (segue-test-visiting (segue-test-main dir)
        (insert "More?")
        (do-auto-save t)
        (should-not (buffer-modified-p))
        (setq jf/gptel-autosave-enabled nil)
        (insert " And more?")
        (do-auto-save t)
        (should (buffer-modified-p))))))

(ert-deftest segue-auto-save-overwrites-nothing-that-changed-on-disk ()
  (let ((dir (segue-test-copy "settings")))
    (segue-test-on
      (segue-test-visiting (segue-test-main dir)
        (insert "More?")
        (write-region "Somebody else's.\n" nil (segue-test-main dir) t 'quiet)
        (set-visited-file-modtime '(0 0))
        (segue-autosave)
        (should (buffer-modified-p))))))

(ert-deftest segue-saving-without-gptel-leaves-the-footer-as-it-is ()
  (let ((dir (segue-test-copy "settings")))
    (segue-test-on
      (segue-test-visiting (segue-test-main dir)
        (let ((footer (buffer-substring-no-properties (segue-footer-start) (point-max))))
          (insert "More?")
          (save-buffer)
          (should (equal footer (buffer-substring-no-properties (segue-footer-start) (point-max)))))))))

;;;; Commands

(ert-deftest segue-a-new-session-is-made-and-visited ()
  (let ((jf/gptel-sessions-directory (make-temp-file "segue-test-" t)))
    (segue-test-on
      (jf/gptel-persistent-session "API Integration")
      (unwind-protect
          (progn
            (should (string-match-p "\\`api-integration-[0-9]\\{14\\}\\'" jf/gptel--session-id))
            (should (string-prefix-p (file-truename jf/gptel-sessions-directory) buffer-file-name))
            (should (file-equal-p jf/gptel--branch-dir (expand-file-name "current" jf/gptel--session-dir)))
            (should (eq gptel--preset 'executor)))
        (kill-buffer))
      (should-error (jf/gptel-persistent-session "API" "nobody") :type 'user-error)
      (jf/gptel-persistent-session "--help wanted") ; a name is never an option
      (unwind-protect
          (progn
            (should (string-prefix-p "help-wanted-" jf/gptel--session-id))
            (insert "### Hi")
            (segue-branch "-x")
            (should (string-suffix-p "-x" jf/gptel--branch-name)))
        (kill-buffer))
      (should-not warned))))

(ert-deftest segue-a-session-inside-an-activity-is-made-there ()
  (let ((activity (make-temp-file "segue-test-" t)))
    (segue-test-on
      (jf/gptel-persistent-session "Plan" nil activity)
      (unwind-protect
          (progn
            (should (equal jf/gptel--session-dir (expand-file-name "session" (file-truename activity))))
            (should (string-prefix-p "plan-" jf/gptel--session-id)))
        (kill-buffer))
      (should (string-match-p "already" (cadr (should-error (jf/gptel-persistent-session "Plan" nil activity))))))))

(ert-deftest segue-a-branch-begins-at-point-with-everything-saved ()
  (let ((dir (segue-test-copy "settings")))
    (segue-test-on
      (segue-test-visiting (segue-test-main dir)
        (insert "More?")
        (segue-branch "other way")
        (should (string-suffix-p "-other-way" jf/gptel--branch-name))
        (should (equal (plist-get (jf/gptel--read-branch-metadata jf/gptel--branch-dir) :branch-point-turn) 3))
        (should (save-excursion (goto-char (point-min)) (search-forward "### More?" nil t)))
        (should (equal gptel-temperature 0.8))
        (kill-buffer)
        (should-not (with-current-buffer buffer (buffer-modified-p))))
      (segue-test-visiting (segue-test-main dir)
        (goto-char (point-min))
        (search-forward "More?")
        (segue-branch "without" t)
        (should (= (plist-get (jf/gptel--read-branch-metadata jf/gptel--branch-dir) :branch-point-turn) 2))
        (should-not (save-excursion (goto-char (point-min)) (search-forward "More?" nil t)))
        (kill-buffer)))))

(ert-deftest segue-switching-makes-the-branch-the-current-one ()
  (dolist (dir (list (segue-test-copy "forked") (segue-test-activity "forked")))
    (segue-test-on
      (segue-test-visiting (segue-test-main dir)
        (should (equal (segue-branch-names) '("main" "other")))
        (segue-switch-branch "other")
        (should (equal jf/gptel--branch-name "other"))
        (kill-buffer)
        (should (equal (file-symlink-p (expand-file-name jf/gptel--current-link-name dir)) "branches/other"))
        (should-error (with-current-buffer buffer (segue-switch-branch "nothing")) :type 'user-error))
      (should-not warned))))

(ert-deftest segue-commands-outside-of-a-session-say-so ()
  (with-temp-buffer
    (should-error (segue-branch "x") :type 'user-error)
    (should-error (segue-switch-branch "main") :type 'user-error)
    (should-error (segue-branch-names) :type 'user-error)))

;;;; Files

(ert-deftest segue-paths-are-made-of-the-constants ()
  (should (equal (jf/gptel--branches-dir-path "/s/id") "/s/id/branches"))
  (should (equal (jf/gptel--branch-dir-path "/s/id" "main") "/s/id/branches/main"))
  (should (equal (jf/gptel--context-file-path "/s/id/branches/main") "/s/id/branches/main/session.md"))
  (should (equal (jf/gptel--metadata-file-path "/b") (concat "/b/" jf/gptel--metadata-file-name)))
  (should (equal (jf/gptel--scope-file-path "/b") "/b/scope.yml")))

(ert-deftest segue-metadata-that-segue-wrote-is-a-plist ()
  (let* ((expected (segue-test-case "settings"))
         (found (jf/gptel--read-session-metadata (file-name-directory (plist-get expected :file)))))
    (should (equal (plist-get found :session-id) (plist-get expected :session-id)))
    (should (equal (plist-get found :preset) "executor"))
    (should (string-match-p "\\`[0-9-]+T[0-9:.]+\\+00:00\\'" (plist-get found :created)))
    (should (plist-get (jf/gptel--read-branch-metadata (file-name-directory (plist-get expected :file))) :created))))

(defun segue-test-fields (name text)
  "Return the metadata of a branch whose file NAME holds TEXT, and the warnings."
  (let ((dir (make-temp-file "segue-test-" t)) (warned nil))
    (write-region text nil (expand-file-name name dir) nil 'quiet)
    (cl-letf (((symbol-function 'display-warning) (lambda (_ text &rest _) (push text warned))))
      (cons (jf/gptel--read-session-metadata dir) warned))))

(ert-deftest segue-metadata-written-by-hand-is-read ()
  (should (equal (segue-test-fields "metadata.yml" "# mine\n---\nsession_id: 'it''s'\npreset: executor # the default\ntype: \"agent\"\n")
                 '((:session-id "it's" :preset "executor" :type "agent")))))

(ert-deftest segue-metadata-that-is-missing-or-broken-is-nil ()
  (should-not (jf/gptel--read-session-metadata "/nowhere"))
  (dolist (text '("" "not yaml at all" "session_id: \"open\npreset: x\n" "{"))
    (should (equal (segue-test-fields "metadata.yml" text) '(nil)))))

(ert-deftest segue-the-old-names-of-metadata-are-read-with-a-warning ()
  (let ((found (segue-test-fields "scope-plan.yml" "session_id: old-1\nagent_type: explorer\npaths:\n  read:\n    - /x\n")))
    (should (equal (plist-get (car found) :preset) "explorer"))
    (should (equal (plist-get (car found) :session-id) "old-1"))
    (should (string-match-p "segue gptel migrate" (cadr found)))))

(provide 'segue-test)
;;; segue-test.el ends here
