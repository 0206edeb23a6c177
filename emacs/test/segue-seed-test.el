;;; segue-seed-test.el --- The scenarios of the specification in a real Emacs  -*- lexical-binding: t; -*-

;;; Commentary:

;; tests/seeds/test_003_gptel.py has one test per scenario, and each one that Emacs
;; has a part in asks for the test of the same name here.  They run with the double of
;; gptel, and with gptel itself under --gptel.

;;; Code:

(require 'segue-activities)
(require 'segue-gptel-support)

(defmacro segue-seed (&rest body)
  "Do BODY in `segue-mode', with no sessions yet and the preset executor in gptel."
  (declare (indent 0))
  `(let ((jf/gptel-sessions-directory (file-name-as-directory (make-temp-file "segue-test-" t)))
         (jf/gptel--registry (make-hash-table :test #'equal))
         (gptel--known-presets nil) (segue--presets nil) (kept (buffer-list)))
     (gptel-make-preset 'executor
       :description "Executes." :model 'gpt-4o :backend "Test" :system "You execute." :temperature 0.5
       :tools '("read_file"))
     (unwind-protect (segue-test-on ,@body)
       (dolist (buffer (seq-difference (buffer-list) kept))
         (when (buffer-file-name buffer)
           (with-current-buffer buffer (set-buffer-modified-p nil))
           (kill-buffer buffer))))))

(defun segue-seed-new (&optional name)
  "Start the session NAME, and return its file."
  (jf/gptel-persistent-session (or name "API Integration"))
  buffer-file-name)

(defun segue-seed-foreign (id &rest files)
  "Write the session ID, as other programs leave one, and return its file.
FILES are names and texts, in turn."
  (let* ((dir (expand-file-name id jf/gptel-sessions-directory)) (branch (jf/gptel--branch-dir-path dir "main")))
    (make-directory branch t)
    (make-symbolic-link "branches/main" (expand-file-name "current" dir))
    (while files
      (write-region (concat (nth 1 files)) nil (expand-file-name (nth 0 files) branch) nil 'quiet)
      (setq files (nthcdr 2 files)))
    (jf/gptel--context-file-path branch)))

(defun segue-seed-visit (file)
  "Visit FILE as a user does who has not visited it before."
  (when-let ((buffer (find-buffer-visiting file)))
    (with-current-buffer buffer (set-buffer-modified-p nil))
    (kill-buffer buffer))
  (find-file file))

(defun segue-seed-set (variable value)
  "Set VARIABLE of gptel to VALUE in this buffer."
  (set (make-local-variable (indirect-variable variable)) value))

(defun segue-seed-contents (file)
  "Return the text of FILE."
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8)) (insert-file-contents file))
    (buffer-string)))

(defmacro segue-seed-calls (functions &rest body)
  "Do BODY, and return the calls of FUNCTIONS meanwhile, in order."
  (declare (indent 1))
  `(let* ((calls nil)
          (spies (mapcar (lambda (name) (cons name (lambda (&rest arguments) (push (cons name arguments) calls))))
                         ,functions)))
     (pcase-dolist (`(,name . ,spy) spies) (advice-add name :before spy))
     (unwind-protect (progn ,@body)
       (pcase-dolist (`(,name . ,spy) spies) (advice-remove name spy)))
     (nreverse calls)))

(defun segue-seed-check-applied (calls)
  "Check that CALLS apply the preset executor to the buffer alone, then turn on gptel."
  (pcase-let ((`((,first ,preset ,setter) . ,_) calls))
    (should (eq first 'gptel--apply-preset))
    (should (eq preset 'executor))
    (with-temp-buffer
      (funcall setter 'segue-seed-planted 'here)
      (should (local-variable-p 'segue-seed-planted))
      (should-not (default-boundp 'segue-seed-planted))))
  (should (assq 'gptel-mode calls))
  (should gptel-mode)
  (should (eq gptel--preset 'executor))
  (should (eq gptel-model 'gpt-4o))
  (should (equal gptel-temperature 0.5))
  (should (equal (segue-setting 'gptel--tool-names) '("read_file")))
  (should (equal (segue-setting 'gptel--system-message) "You execute."))
  (should (eq (default-value 'gptel-model) 'gpt-5)))

(defconst segue-seed-about "session_id: old-1\ncreated: 2026-01-02T03:04:05Z\nupdated: 2026-01-02T03:04:05Z\n")
(defconst segue-seed-said "### How do I paginate?\n\nUse cursors.\n\n### And then?\n")

;;;; Directory structure and files

(ert-deftest segue-seed-valid-session-directory-structure ()
  (segue-seed
    (segue-seed-new)
    (let ((dir jf/gptel--session-dir))
      (insert "### Hi")
      (segue-branch "other")
      (should (= (length (segue-branch-names)) 2))
      (dolist (name (segue-branch-names))
        (should (file-regular-p (jf/gptel--context-file-path (jf/gptel--branch-dir-path dir name))))))))

(ert-deftest segue-seed-current-branch-symlink ()
  (segue-seed
    (segue-seed-new)
    (let ((link (expand-file-name jf/gptel--current-link-name jf/gptel--session-dir)))
      (should (equal (file-symlink-p link) "branches/main"))
      (insert "### Hi")
      (segue-branch "other")
      (should (equal (file-symlink-p link) (concat "branches/" jf/gptel--branch-name)))
      (should (file-equal-p link jf/gptel--branch-dir))
      (segue-switch-branch "main")
      (should (equal (file-symlink-p link) "branches/main")))))

(ert-deftest segue-seed-metadata-yml-required-fields ()
  (segue-seed
    (segue-seed-new)
    (let ((found (jf/gptel--read-session-metadata jf/gptel--branch-dir)))
      (should (equal (plist-get found :session-id) (file-name-nondirectory jf/gptel--session-dir)))
      (should (equal (plist-get found :preset) "executor"))
      (dolist (key '(:created :updated))
        (should (string-match-p "\\`[0-9-]+T[0-9:.]+\\+00:00\\'" (plist-get found key)))))))

(ert-deftest segue-seed-backward-compatibility-with-scope-plan-yml ()
  (segue-seed
    (find-file (segue-seed-foreign "old-1" "session.md" "" "scope-plan.yml"
                                   (concat segue-seed-about "preset: executor\npaths: {read: [/notes/**]}\n")))
    (should (equal jf/gptel--session-id "old-1"))
    (should (eq gptel--preset 'executor))
    (should (equal (plist-get (plist-get jf/gptel--scope :paths) :read) '("/notes/**")))
    (should (string-match-p "scope-plan.yml is used; segue gptel migrate" (string-join warned "\n")))))

(ert-deftest segue-seed-backward-compatibility-with-agent-type ()
  (segue-seed
    (find-file (segue-seed-foreign "old-1" "session.md" "" "metadata.yml"
                                   (concat segue-seed-about "agent_type: executor\n")))
    (should (eq gptel--preset 'executor))
    (should (equal (plist-get (jf/gptel--read-session-metadata jf/gptel--branch-dir) :preset) "executor"))))

;;;; Create

(ert-deftest segue-seed-standalone-session-creation ()
  (segue-seed
    (segue-mode -1)                     ; it need not be on
    (segue-seed-check-applied
     (segue-seed-calls '(gptel--apply-preset gptel-mode) (segue-seed-new)))
    (should (string-match-p "\\`api-integration-[0-9]\\{14\\}\\'" jf/gptel--session-id))
    (should (equal jf/gptel--session-dir
                   (file-truename (expand-file-name jf/gptel--session-id jf/gptel-sessions-directory))))
    (should (equal buffer-file-truename
                   (abbreviate-file-name (jf/gptel--context-file-path jf/gptel--branch-dir))))
    (should (equal (buffer-string) ""))
    (should (equal (segue-seed-contents buffer-file-name) ""))
    (should (equal (plist-get (jf/gptel--read-session-metadata jf/gptel--branch-dir) :session-id) jf/gptel--session-id))
    (should (file-exists-p (jf/gptel--scope-file-path jf/gptel--branch-dir)))
    (should (plist-get jf/gptel--scope :shell-commands))
    (should (eq (plist-get (jf/gptel--registry-get jf/gptel--session-id "main") :buffer) (current-buffer)))
    (should (eq (window-buffer) (current-buffer)))))

(ert-deftest segue-seed-activities-integrated-session-creation ()
  (segue-seed
    (segue-mode -1)
    (segue-seed-check-applied
     (segue-seed-calls '(gptel--apply-preset gptel-mode) (activities-ext-create "Big Plan")))
    (should (equal jf/gptel--branch-dir (expand-file-name "branches/main" jf/gptel--session-dir)))
    (should (string-match-p "\\`big-plan-[0-9]\\{14\\}\\'" jf/gptel--session-id))
    (should (eq (plist-get (jf/gptel--registry-get jf/gptel--session-id "main") :buffer) (current-buffer)))
    (should (eq (window-buffer) (current-buffer)))
    (let ((folder (file-relative-name jf/gptel--session-dir (file-truename "~/emacs-activities/"))))
      (should (string-match-p "\\`big-plan-[0-9]\\{4\\}-[0-9][0-9]-[0-9][0-9]\\(-[0-9]+\\)?/session\\'" folder)))
    (dolist (name (list jf/gptel--context-file-name jf/gptel--metadata-file-name jf/gptel--scope-file-name
                        jf/gptel--branch-metadata-file-name))
      (should (file-exists-p (expand-file-name name jf/gptel--branch-dir))))
    (should (equal (file-symlink-p (expand-file-name jf/gptel--current-link-name jf/gptel--session-dir))
                   "branches/main"))))

;;;; Open

(ert-deftest segue-seed-reopening-existing-session-has-local-variables ()
  (segue-seed
    (let ((file (segue-seed-new)))
      (insert "### Hi\n\n" (propertize "Hello." 'gptel 'response) "\n\n### ")
      (segue-seed-set 'gptel-temperature 0.8)
      (segue-seed-set 'gptel-tools nil)
      (segue-seed-set 'gptel-model 'gpt-5)
      (segue-gptel-press "C-x C-s")
      (segue-test-edit file "Local Variables: -->" "Local Variables: -->\n<!-- fill-column: 99 -->")
      (let ((calls (segue-seed-calls '(gptel--restore-state segue--apply-preset) (segue-seed-visit file))))
        (should (equal (mapcar #'car calls) '(gptel--restore-state))))
      (should gptel-mode)
      (should (equal jf/gptel--session-id (file-name-nondirectory jf/gptel--session-dir)))
      (should (equal jf/gptel--branch-name "main"))
      (should (equal jf/gptel--branch-dir (jf/gptel--branch-dir-path jf/gptel--session-dir "main")))
      (should (eq gptel--preset 'executor))
      (should (equal gptel-temperature 0.8))
      (should (eq gptel-model 'gpt-5))
      (should-not gptel-tools)
      (should (equal (segue-setting 'gptel--system-message) "You execute."))
      (should (equal (segue-test-said (gptel--get-buffer-bounds) 'response) '("Hello.")))
      (should (plist-get jf/gptel--scope :shell-commands))
      (should (eq (plist-get (jf/gptel--registry-get jf/gptel--session-id "main") :buffer) (current-buffer)))
      (should-not (buffer-modified-p))
      ;; Auto-save: an answer is in the file as soon as it is whole.
      (should (eq jf/gptel-autosave-enabled t))
      (goto-char (1- (segue-footer-start)))
      (insert "More?\n\n" (propertize "More." 'gptel 'response) "\n")
      (run-hook-with-args 'gptel-post-response-functions (point-min) (point))
      (should (string-match-p "More\\.\n" (segue-seed-contents file)))
      (should-not warned))))

(ert-deftest segue-seed-opening-newly-created-session-no-local-variables ()
  (segue-seed
    (let ((file (segue-seed-new)))
      (segue-seed-check-applied
       (segue-seed-calls '(gptel--apply-preset gptel-mode) (segue-seed-visit file)))
      (should jf/gptel--scope)
      (should-not (buffer-modified-p))
      (should (equal (segue-seed-contents file) ""))
      (segue-gptel-press "C-x C-s")
      (should (equal (segue-gptel-lines file) '((gptel--preset . "executor") (gptel--bounds . "nil")))))))

(ert-deftest segue-seed-opening-legacy-session-with-preset-md ()
  (segue-seed
    (gptel-make-preset 'mine :system "Arr." :temperature 0.2)
    (dolist (name '(executor mine))
      (let* ((legacy (format "---\npreset: %s\nmodel: other-1\npaths: {read: [/notes/**]}\norg_roam_patterns: []\nshell_commands: {allow: [ls]}\n---\nOld.\n" name))
             (file (segue-seed-foreign (format "old-%s" name) "session.md" segue-seed-said
                                       "metadata.yml" (string-replace "old-1" (format "old-%s" name) segue-seed-about)
                                       "preset.md" legacy))
             (calls (segue-seed-calls '(gptel--apply-preset gptel-mode) (segue-seed-visit file))))
        (if (eq name 'executor)
            (segue-seed-check-applied calls)
          (should (eq gptel--preset 'mine))
          (should (equal gptel-temperature 0.2)))
        (should gptel-mode)
        (should (string-match-p "preset.md is outdated: the preset .* is used" (string-join warned "\n")))
        (should (equal (plist-get (plist-get jf/gptel--scope :paths) :read) '("/notes/**")))
        (should (string-match-p "/notes/\\*\\*" (segue-seed-contents (jf/gptel--scope-file-path jf/gptel--branch-dir))))
        (should (equal (segue-seed-contents file) segue-seed-said))
        (segue-gptel-press "C-x C-s")
        (should (equal (mapcar #'car (segue-gptel-lines file)) '(gptel--preset gptel--bounds)))
        (should (string-prefix-p segue-seed-said (segue-seed-contents file)))
        (setq warned nil)
        (segue-seed-visit file)
        (should-not warned)
        (should (eq gptel--preset name))))))

(ert-deftest segue-seed-legacy-session-with-unknown-preset ()
  (segue-seed
    (let ((file (segue-seed-foreign "old-1" "session.md" segue-seed-said "metadata.yml" segue-seed-about "preset.md"
                                    "---\npreset: pirate\nmodel: other-1\nbackend: Other\ntemperature: 0.3\ntools: [read_file]\n---\nSpeak plainly.\n")))
      (dotimes (_ 2)
        (segue-seed-visit file)
        (should (string-match-p "a preset 'pirate' that is not known here: its settings are used" (string-join warned)))
        (should gptel-mode)
        (should-not gptel--preset)
        (should (eq gptel-model 'other-1))
        (should (equal (segue-setting 'gptel--backend-name) "Other"))
        (should (equal (segue-setting 'gptel--tool-names) '("read_file")))
        (should (equal gptel-temperature 0.3))
        (should (equal (segue-setting 'gptel--system-message) "Speak plainly."))
        (segue-gptel-press "C-x C-s")
        (let ((lines (segue-gptel-lines file)))
          (should-not (assq 'gptel--preset lines))
          (should (equal (alist-get 'gptel-temperature lines) "0.3"))
          (should (equal (alist-get 'gptel-model lines) "other-1"))
          (should (equal (alist-get 'gptel--system-message lines) "\"Speak plainly.\"")))))))

(ert-deftest segue-seed-fast-guard-for-non-session-files ()
  (segue-seed
    (let ((file (expand-file-name "notes.md" jf/gptel-sessions-directory)))
      (write-region "text" nil file nil 'quiet)
      (should-not (segue-seed-calls '(segue--place segue--call segue--load-gptel) (segue-seed-visit file)))
      (should-not jf/gptel--session-id))))

;;;; Save

(ert-deftest segue-seed-manual-save-via-c-x-c-s ()
  (segue-seed
    (let ((file (segue-seed-new)) (said "### How do I paginate?\n\nUse cursors.\n"))
      (insert (substring said 0 24) (propertize "Use cursors." 'gptel 'response) "\n")
      (segue-seed-set 'gptel-max-tokens 4000)
      (should-not (memq 'gptel--save-state before-save-hook))
      (segue-gptel-press "C-x C-s")
      (should-not (buffer-modified-p))
      (should (string-prefix-p (concat said "\f\n") (segue-seed-contents file)))
      (should (equal (segue-gptel-lines file)
                     '((gptel--preset . "executor") (gptel-max-tokens . "4000")
                       (gptel--bounds . "((response (25 37)))"))))
      ;; A text like a footer is text: gptel itself would write into it.
      (goto-char (point-min))
      (insert "### Look:\n\n<!-- Local Variables: -->\n<!-- gptel-temperature: 2 -->\n<!-- End: -->\n\n")
      (segue-gptel-press "C-x C-s")
      (should (string-match-p "\\`### Look:\n\n<!-- Local Variables: -->\n<!-- gptel-temperature: 2 -->\n<!-- End: -->\n\n### How"
                              (segue-seed-contents file)))
      (should (= (length (split-string (segue-seed-contents file) "Local Variables:")) 3)))))

(ert-deftest segue-seed-save-after-temperature-change ()
  (segue-seed
    (let ((file (segue-seed-new)))
      (insert "### Hi\n")
      (segue-gptel-press "C-x C-s")
      (should (equal (mapcar #'car (segue-gptel-lines file)) '(gptel--preset gptel--bounds)))
      (segue-seed-set 'gptel-temperature 0.8) ; and nothing else is changed
      (segue-gptel-press "C-x C-s")
      (should (equal (segue-gptel-lines file)
                     '((gptel--preset . "executor") (gptel-temperature . "0.8") (gptel--bounds . "nil"))))
      (segue-seed-set 'gptel-temperature nil)
      (segue-gptel-press "C-x C-s")
      (should (equal (alist-get 'gptel-temperature (segue-gptel-lines file)) "nil"))
      (segue-seed-visit file)
      (should-not gptel-temperature))))

(ert-deftest segue-seed-save-after-system-message-modification ()
  (segue-seed
    (let ((file (segue-seed-new)))
      (insert "### Hi\n")
      (dolist (message '("Speak like a \"pirate\".\nLocal Variables: arr." nil))
        (segue-seed-set 'gptel--system-message message)
        (segue-gptel-press "C-x C-s")
        (should (equal (mapcar #'car (segue-gptel-lines file)) '(gptel--preset gptel--system-message gptel--bounds)))
        (segue-seed-visit file)
        (should (equal (segue-setting 'gptel--system-message) message))
        (should (equal gptel-temperature 0.5))))))

(ert-deftest segue-seed-save-with-no-changes-from-preset ()
  (segue-seed
    (let ((file (segue-seed-new)))
      (insert "### Hi\n")
      (segue-gptel-press "C-x C-s")
      (should (equal (segue-gptel-lines file) '((gptel--preset . "executor") (gptel--bounds . "nil"))))
      (segue-seed-visit file)
      (insert "More?")
      (segue-gptel-press "C-x C-s")
      (should (equal (segue-gptel-lines file) '((gptel--preset . "executor") (gptel--bounds . "nil")))))))

;;;; Registry, metadata and paths

(ert-deftest segue-seed-registry-lookup-performance ()
  (segue-seed
    (segue-seed-new)
    (should (hash-table-p jf/gptel--registry))
    (let ((found (gethash (concat jf/gptel--session-id "/main") jf/gptel--registry)))
      (should (eq found (jf/gptel--registry-get jf/gptel--session-id "main")))
      (should (equal (plist-get found :session-dir) jf/gptel--session-dir))
      (should (equal (plist-get found :branch-dir) jf/gptel--branch-dir))
      (should (eq (plist-get found :buffer) (current-buffer))))))

(ert-deftest segue-seed-filesystem-as-source-of-truth ()
  (segue-seed
    (segue-seed-new)
    (should (equal (cl-loop for (key) on (jf/gptel--registry-get jf/gptel--session-id "main") by #'cddr collect key)
                   '(:session-id :session-dir :branch-name :branch-dir :buffer)))
    (write-region "paths: {read: [/elsewhere]}\n" nil (jf/gptel--scope-file-path jf/gptel--branch-dir) nil 'quiet)
    (should (equal (plist-get (plist-get (jf/gptel--read-scope jf/gptel--branch-dir) :paths) :read) '("/elsewhere")))
    (write-region "session_id: x\npreset: other\n" nil (jf/gptel--metadata-file-path jf/gptel--branch-dir) nil 'quiet)
    (should (equal (plist-get (jf/gptel--read-session-metadata jf/gptel--branch-dir) :preset) "other"))))

(ert-deftest segue-seed-reading-session-metadata ()
  (segue-seed
    (let ((dir (file-name-directory (segue-seed-foreign "old-1" "metadata.yml" (concat segue-seed-about "parent_session_id: p-1\n")))))
      (should (equal (plist-get (jf/gptel--read-session-metadata dir) :session-id) "old-1"))
      (should (equal (plist-get (jf/gptel--read-session-metadata dir) :parent-session-id) "p-1"))
      (write-region "not yaml" nil (jf/gptel--metadata-file-path dir) nil 'quiet)
      (should-not (jf/gptel--read-session-metadata dir))
      (delete-file (jf/gptel--metadata-file-path dir))
      (should-not (jf/gptel--read-session-metadata dir)))))

(ert-deftest segue-seed-reading-scope-configuration ()
  (segue-seed
    (segue-seed-new)
    (let ((found (jf/gptel--read-scope jf/gptel--branch-dir)))
      (dolist (key '(:paths :org-roam-patterns :shell-commands)) (should (plist-member found key))))))

(ert-deftest segue-seed-fallback-to-scope-plan-yml ()
  (segue-seed
    (let ((dir (file-name-directory (segue-seed-foreign "old-1" "scope-plan.yml" (concat segue-seed-about "preset: executor\n")))))
      (should (equal (plist-get (jf/gptel--read-session-metadata dir) :preset) "executor"))
      (should (string-match-p "scope-plan.yml" (car warned))))))

(ert-deftest segue-seed-computing-scope-file-path ()
  (should (equal (jf/gptel--branches-dir-path "/s") "/s/branches"))
  (should (equal (jf/gptel--branch-dir-path "/s" "main") "/s/branches/main"))
  (should (equal (jf/gptel--context-file-path "/s/branches/main") "/s/branches/main/session.md"))
  (let ((jf/gptel--scope-file-name "other.yml"))
    (should (equal (jf/gptel--scope-file-path "/s/branches/main") "/s/branches/main/other.yml")))
  (should (equal (jf/gptel--scope-file-path "/s/branches/main") "/s/branches/main/scope.yml")))

(ert-deftest segue-seed-computing-metadata-file-path ()
  (should (equal (jf/gptel--metadata-file-path "/s/branches/main") "/s/branches/main/metadata.yml")))

(provide 'segue-seed-test)
;;; segue-seed-test.el ends here
