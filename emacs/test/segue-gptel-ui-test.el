;;; segue-gptel-ui-test.el --- Tools, times and the hidden footer in gptel itself  -*- lexical-binding: t; -*-

;;; Commentary:

;; Runs with upstream gptel, and with the package activities if it is in the load
;; path too, with persist.

;;; Code:

(require 'segue-gptel-support)
(require 'segue-ui-test)

(defvar segue-gptel-ui-ran nil "The tools that ran, the last one first.")

(dolist (name '("read_file" "run_shell" "eval"))
  (gptel-make-tool :name name :description name :category "test"
                   :args (list (list :name "path" :type 'string :description "x")
                               (list :name "command" :type 'string :description "x"))
                   :function (lambda (&rest given) (push (cons name (delq nil given)) segue-gptel-ui-ran) (concat name "!"))))

(defun segue-gptel-ui-call (&rest calls)
  "Let the model make CALLS in this buffer, as after `gptel-send'.
Each is the name of a tool and its arguments.  Return what the user is asked."
  (let* ((asked nil)
         (info (list :buffer (current-buffer) :backend gptel-backend :model gptel-model :data (list :messages [])
                     :tools (mapcar #'gptel-get-tool '("read_file" "run_shell" "eval"))
                     :position (point-marker)
                     :callback (lambda (response &rest _)
                                 (when (eq (car-safe response) 'tool-call) (push (cdr response) asked)))
                     :tool-use (mapcar (lambda (call) (list :id "call_1" :name (car call) :args (cdr call))) calls)))
         (handlers (cons '(WAIT ignore) (assq-delete-all 'WAIT (copy-alist gptel-send--handlers))))
         (fsm (gptel-make-fsm :table gptel-send--transitions :handlers handlers :state 'TYPE :info info)))
    (gptel--fsm-transition fsm)
    (list :asked (mapcar (lambda (call) (gptel-tool-name (car call))) (car asked))
          :results (mapcar (lambda (call) (plist-get call :result)) (plist-get info :tool-use))
          :state (gptel-fsm-state fsm))))

(ert-deftest segue-gptel-ui-a-tool-runs-only-within-the-scope ()
  (segue-ui-with ("settings")
    (segue-test-visiting (segue-test-main (car dirs))
      (let ((segue-gptel-ui-ran nil) (gptel-confirm-tool-calls nil))
        (let ((done (segue-gptel-ui-call '("read_file" :path "/s/a") '("run_shell" :command "rm x"))))
          (should (equal segue-gptel-ui-ran '(("read_file" "/s/a"))))
          (should (equal (car (plist-get done :results)) "read_file!"))
          (should (string-match-p "out of scope: no pattern allows 'rm x'" (nth 1 (plist-get done :results))))
          (should (eq (plist-get done :state) 'WAIT)))
        (let ((done (segue-gptel-ui-call '("run_shell" :command "rm x") '("read_file" :path "/etc/passwd"))))
          (should (= (length segue-gptel-ui-ran) 1))
          (should (eq (plist-get done :state) 'WAIT)))
        (let ((done (segue-gptel-ui-call '("eval" :command "1"))))
          (should (= (length segue-gptel-ui-ran) 1))
          (should (equal (plist-get done :asked) '("eval"))))
        (let ((segue-command "/nowhere/segue"))
          (segue-gptel-ui-call '("read_file" :path "/s/a"))
          (should (= (length segue-gptel-ui-ran) 1)))
        (with-temp-buffer
          (insert-file-contents (expand-file-name "tools.org" (file-name-directory (segue-test-main (car dirs)))))
          (should (= (how-many "^\\* read_file$" (point-min)) 2))
          (should (= (how-many "^\\* run_shell$" (point-min)) 2))
          (should (search-forward "read_file!" nil t))
          (should (search-forward "out of scope" nil t)))))))

(ert-deftest segue-gptel-ui-an-older-gptel-asks-the-user-about-every-tool ()
  (segue-ui-with ("settings")
    (cl-letf (((symbol-function 'custom-variable-p) #'ignore))
      (segue-test-visiting (segue-test-main (car dirs))
        (should (local-variable-p 'gptel-confirm-tool-calls))
        (should (eq gptel-confirm-tool-calls t))))))

(ert-deftest segue-gptel-ui-a-call-in-the-text-has-one-entry-in-the-log ()
  (segue-ui-with ("settings")
    (segue-test-visiting (segue-test-main (car dirs))
      (insert "What is there?")
      (setq-local gptel-include-tool-results t)
      (segue-gptel-ui-call '("read_file" :path "/s/a"))
      (gptel--display-tool-results
       (list (list (gptel-get-tool "read_file") '(:path "/s/a") "read_file!"))
       (list :position (point-marker) :tools (list (gptel-get-tool "read_file"))
             :callback (lambda (text &rest _) (insert text))
             :tool-use '((:id "call_1" :name "read_file" :args (:path "/s/a") :result "read_file!"))))
      (save-buffer)
      (segue--call "gptel" "save" (jf/gptel--context-file-path jf/gptel--branch-dir))
      (with-temp-buffer
        (insert-file-contents (expand-file-name "tools.org" (file-name-directory (segue-test-main (car dirs)))))
        (ert-info ((buffer-string))
          (should (= (how-many "^\\* read_file$" (point-min)) 1))
          (should (search-forward ":CALL: call_1" nil t)))))))

(ert-deftest segue-gptel-ui-a-renamed-session-is-not-modified ()
  (segue-ui-with ("plain")
    (segue-test-visiting (segue-test-main (car dirs))
      (segue-rename (segue-session-here) "New")
      (should (equal (buffer-name) "New"))
      (should-not (buffer-modified-p))
      (should (equal (segue-test-said (gptel--get-buffer-bounds) 'response) '("Hello."))))))

(ert-deftest segue-gptel-ui-question-and-answer-have-their-times ()
  (segue-ui-with ("empty")
    (segue-test-visiting (segue-test-main (car dirs))
      (insert "### How long?")
      (let ((info (list :buffer (current-buffer) :position (point-marker) :stream t :http-status "200"))
            (clock "2030-11-16T08:00:00.000Z"))
        (cl-letf* ((original (symbol-function 'format-time-string))
                   ((symbol-function 'format-time-string)
                    (lambda (format &rest rest) (if (equal format "%FT%T.%3NZ") clock (apply original format rest)))))
          (run-hooks 'gptel-post-request-hook)
          (save-excursion (run-hooks 'gptel-pre-response-hook))
          (gptel-curl--stream-insert-response "As long " info)
          (save-buffer)
          (gptel-curl--stream-insert-response "as it takes." info)
          (setq clock "2030-11-16T08:05:00.250Z")
          (run-hook-with-args 'gptel-post-response-functions (plist-get info :position) (plist-get info :tracking-marker)))
        (should-not (buffer-modified-p))
        (should-not (string-match-p "Local Variables" (segue-ui-visible)))
        (should (string-match-p "As long as it takes\\." (segue-ui-visible)))
        (set-file-times buffer-file-name (encode-time 0 0 0 1 1 2031 t))
        (should (equal (mapcar (lambda (turn) (plist-get turn :timestamp))
                               (plist-get (segue--call "show" "--store" (segue--store root) "--"
                                                       (file-name-nondirectory (car dirs)))
                                          :turns))
                       '("2030-11-16T08:00:00Z" "2030-11-16T08:05:00.250000Z")))))))

(ert-deftest segue-gptel-ui-an-activity-of-the-package-comes-back-with-its-session ()
  (when (locate-library "activities")   ; the path of --gptel may include it
    (require 'activities)
    (segue-ui-with ()
      (let ((activities-activities nil) (activities-always-persist nil) (activities-bookmark-store nil)
            (activities-set-frame-name nil))
        (activities-ext-create "Plan")
        (should (equal (activities-names) '("Plan")))
        (should (equal (activities-activity-name (activities-current)) "Plan"))
        (should-not warned)
        (let ((file buffer-file-name) (dir jf/gptel--session-dir))
          (kill-buffer)
          (set-frame-parameter nil 'activity nil)
          (activities-resume (activities-named "Plan"))
          (should (equal (buffer-local-value 'jf/gptel--session-dir (get-file-buffer file)) dir)))))))

(provide 'segue-gptel-ui-test)
;;; segue-gptel-ui-test.el ends here
