;;; segue-test.el --- What segue.el does in a real Emacs  -*- lexical-binding: t; -*-

;;; Commentary:

;; Without gptel; segue-gptel-test.el has what needs it.

;;; Code:

(require 'ert)
(require 'segue-room)

;;;; Emacs's own code reads the footer

(ert-deftest segue-emacs-reads-the-footer-itself ()
  (segue-test-gullible
    (dolist (expected (segue-test-expected))
      (unless (eq (plist-get expected :is-long) t)
        (segue-test-visiting (plist-get expected :file)
          (ert-info ((plist-get expected :name))
            (let ((variables (plist-get expected :variables)))
              (while variables
                (let ((variable (intern (substring (symbol-name (pop variables)) 1)))
                      (value (segue-test-value (pop variables))))
                  (should (local-variable-p variable))
                  (should (equal (symbol-value variable) value)))))))))))

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

(ert-deftest segue-a-footer-that-is-too-long-for-emacs-is-read-whole ()
  (let ((expected (segue-test-case "long")))
    (segue-test-gullible
      (segue-test-visiting (plist-get expected :file)
        (should (> (- (point-max) (segue-footer-start)) 3000))
        (should-not file-local-variables-alist)
        (let ((found (segue-footer-read)))
          (should (equal (alist-get 'gptel-temperature found) 0.8))
          (should (eq (alist-get 'gptel--preset found) 'executor)))))))

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
  (let ((dir (segue-test-copy "settings")))
    (segue-test-answering segue-test-answer
      (segue-test-visiting (segue-test-main dir)
        (should (equal jf/gptel--session-id "from-the-command"))
        (should (equal jf/gptel--session-dir (file-truename dir)))
        (should (equal jf/gptel--branch-name "main"))
        (should (equal jf/gptel--branch-dir (jf/gptel--branch-dir-path (file-truename dir) "main")))
        (should (eq jf/gptel-autosave-enabled t))
        (should (equal (plist-get jf/gptel--scope :shell-commands) '(:allow ("ls"))))
        (should (eq (plist-get (jf/gptel--registry-get "from-the-command" "main") :buffer) (current-buffer)))
        (should-not (plist-member (jf/gptel--registry-get "from-the-command" "main") :preset))
        (should (eq gptel--preset 'executor))
        (should (derived-mode-p 'text-mode)))
      (should-not (jf/gptel--registry-get "from-the-command" "main"))
      (should (equal (segue-test-asked asked)
                     (list "gptel" "open" (file-truename (segue-test-main dir)) "--json"))))))

(ert-deftest segue-what-was-saved-wins-over-the-preset ()
  (let ((dir (segue-test-copy "settings")))
    (segue-test-answering (string-replace "0.8" "0.1" segue-test-answer)
      (segue-test-visiting (segue-test-main dir)
        (should (equal gptel-temperature 0.8))))))

(ert-deftest segue-a-new-session-gets-its-settings-from-the-preset ()
  (let ((dir (segue-test-copy "empty")))
    (segue-test-answering segue-test-answer
      (segue-test-visiting (segue-test-main dir)
        (should (= (buffer-size) 0))
        (should (eq gptel--preset 'executor))
        (should (eq gptel-model 'gpt-4o))
        (should (equal gptel-temperature 0.8))
        (should (equal (symbol-value (indirect-variable 'gptel--system-message)) "Be brief."))
        (should-not (buffer-modified-p))))))

(ert-deftest segue-a-legacy-session-with-an-unknown-preset-has-none ()
  (let ((dir (segue-test-copy "empty")) (warned nil))
    (segue-test-answering (thread-last segue-test-answer
                                       (string-replace "\"preset\": \"executor\"" "\"preset\": null")
                                       (string-replace "\"warnings\": []" "\"warnings\": [\"no preset is called mine\"]"))
      (cl-letf (((symbol-function 'display-warning) (lambda (_ text &rest _) (push text warned))))
        (segue-test-visiting (segue-test-main dir)
          (should-not gptel--preset)
          (should (eq gptel-model 'gpt-4o))
          (should (equal warned '("no preset is called mine"))))))))

(ert-deftest segue-the-link-to-the-current-branch-leads-to-the-session ()
  (let ((dir (segue-test-copy "settings")))
    (segue-test-answering segue-test-answer
      (segue-test-visiting (expand-file-name "current/session.md" dir)
        (should (equal jf/gptel--branch-name "main"))))))

(ert-deftest segue-other-files-are-left-alone ()
  (segue-test-answering segue-test-answer
    (dolist (name '("notes.md" "session.md" "branches/session.md" "branches/main/session.md.bak"))
      (let ((file (expand-file-name name folder)))
        (make-directory (file-name-directory file) t)
        (write-region "text" nil file nil 'quiet)
        (segue-test-visiting file
          (should-not jf/gptel--session-id)
          (should-not (file-exists-p asked)))))))

(ert-deftest segue-the-guard-looks-at-nothing-but-the-name ()
  (with-temp-buffer
    (setq buffer-file-name "/nowhere/at/all.md")
    (cl-letf (((symbol-function 'segue--place) (lambda (_) (error "It looked"))))
      (segue-find-file))
    (setq buffer-file-name nil)
    (segue-find-file)))

(ert-deftest segue-a-session-opens-without-the-command ()
  (let ((dir (segue-test-copy "settings")) (warned nil))
    (segue-test-answering ""
      (dolist (command (list program "/nowhere/segue" (list "sh" "-c" "echo '{\"error\":{\"message\":\"it is damaged\",\"hint\":\"segue verify\"}}' >&2; exit 5")))
        (let ((segue-command command))
          (cl-letf (((symbol-function 'display-warning) (lambda (_ text &rest _) (push text warned))))
            (segue-test-visiting (segue-test-main dir)
              (should (equal jf/gptel--session-id (file-name-nondirectory dir)))
              (should (equal gptel-temperature 0.8))
              (should jf/gptel-autosave-enabled)
              (should (> (buffer-size) 0)))))))
    (should (equal (length warned) 3))
    (should (equal (car warned) "Segue: it is damaged; segue verify"))))

(ert-deftest segue-the-id-inside-an-activity-is-in-its-metadata ()
  (let* ((folder (make-temp-file "segue-test-" t)) (dir (expand-file-name "session" folder)))
    (copy-directory (plist-get (segue-test-case "settings") :session-dir) dir nil nil t)
    (segue-test-answering ""
      (cl-letf (((symbol-function 'display-warning) #'ignore))
        (segue-test-visiting (segue-test-main dir)
          (should (equal jf/gptel--session-id (plist-get (segue-test-case "settings") :session-id))))))))

(ert-deftest segue-point-is-before-the-footer ()
  (let ((dir (segue-test-copy "settings")))
    (segue-test-answering segue-test-answer
      (segue-test-visiting (segue-test-main dir)
        (should (looking-at-p "\n\f"))
        (should (equal (buffer-substring (line-beginning-position) (point)) "### "))))))

;;;; Saving

(ert-deftest segue-auto-save-saves-sessions-and-nothing-else ()
  (let ((dir (segue-test-copy "settings")))
    (segue-test-answering segue-test-answer
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
    (segue-test-answering segue-test-answer
      (segue-test-visiting (segue-test-main dir)
        (insert "More?")
        (write-region "Somebody else's.\n" nil (segue-test-main dir) t 'quiet)
        (set-visited-file-modtime '(0 0))
        (segue-autosave)
        (should (buffer-modified-p))))))

(ert-deftest segue-saving-without-gptel-leaves-the-footer-as-it-is ()
  (let ((dir (segue-test-copy "settings")))
    (segue-test-answering segue-test-answer
      (segue-test-visiting (segue-test-main dir)
        (let ((footer (buffer-substring-no-properties (segue-footer-start) (point-max))))
          (insert "More?")
          (save-buffer)
          (should (equal footer (buffer-substring-no-properties (segue-footer-start) (point-max)))))))))

;;;; Commands

(defun segue-test-asked (file)
  "Return the words in FILE, which the command was called with."
  (with-temp-buffer
    (insert-file-contents file)
    (split-string (buffer-string) "\n" t)))

(ert-deftest segue-a-new-session-is-made-and-visited ()
  (let* ((dir (segue-test-copy "empty"))
         (main (jf/gptel--branch-dir-path (file-truename dir) "main"))
         (jf/gptel-sessions-directory "/some/where/"))
    (segue-test-answering (string-replace "/s/branches/main" main segue-test-answer)
      (jf/gptel-persistent-session "API Integration")
      (unwind-protect
          (progn
            (should (equal buffer-file-name (jf/gptel--context-file-path main)))
            (should (equal jf/gptel--session-id "from-the-command")))
        (kill-buffer))
      (should (equal (seq-take (segue-test-asked asked) 8)
                     '("gptel" "new" "API Integration" "--preset" "executor" "--store" "gptel:/some/where" "--json"))))))

(ert-deftest segue-a-session-inside-an-activity-is-made-there ()
  (segue-test-answering (string-replace "/s/branches/main" (segue-test-copy "empty") segue-test-answer)
    (jf/gptel-persistent-session "Plan" "explorer" "/some/activity")
    (kill-buffer)
    (should (equal (seq-take (segue-test-asked asked) 8)
                   '("gptel" "new" "Plan" "--preset" "explorer" "--activity" "/some/activity" "--json")))))

(ert-deftest segue-a-branch-begins-at-point-with-everything-saved ()
  (let* ((dir (segue-test-copy "settings")) (file (file-truename (segue-test-main dir))))
    (segue-test-answering (string-replace "/s/branches/main" (file-name-directory file) segue-test-answer)
      (segue-test-visiting file
        (insert "More?")
        (let ((place (number-to-string (point))))
          (segue-branch "other way" t)
          (should-not (buffer-modified-p))
          (should (equal (nthcdr 4 (segue-test-asked asked))
                         (list "gptel" "branch" file "other way" "--position" place "--exclude" "--json"))))))))

(ert-deftest segue-switching-makes-the-branch-the-current-one ()
  (let* ((dir (segue-test-copy "forked"))
         (segue-command (split-string (getenv "SEGUE_TEST_COMMAND") "\n")))
    (segue-mode 1)
    (cl-letf (((symbol-function 'display-warning) #'ignore))
      (unwind-protect
          (segue-test-visiting (segue-test-main dir)
            (should (equal (segue-branch-names) '("main" "other")))
            (segue-switch-branch "other")
            (should (equal jf/gptel--branch-name "other"))
            (kill-buffer)
            (should (equal (file-symlink-p (expand-file-name jf/gptel--current-link-name dir)) "branches/other"))
            (should-error (with-current-buffer buffer (segue-switch-branch "nothing")) :type 'user-error))
        (segue-mode -1)))))

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
