;;; segue-probe.el --- What gptel does, to compare it with its double  -*- lexical-binding: t; -*-

;;; Commentary:

;; Calls the functions that segue.el uses, and writes what they did to the file
;; SEGUE_TEST_RESULTS, one line per case.  tests/emacs runs it with gptel and with the
;; double, and the lines have to be equal.

;;; Code:

(require 'segue-gptel-support)

(defvar segue-probe-lines nil "What was seen so far.")

(defmacro segue-probe (name &rest body)
  "Note under NAME what BODY returns, or the type of its error."
  (declare (indent 1))
  `(push (format "%s: %s" ,name (condition-case problem (segue-printed (progn ,@body))
                                  (user-error "a user error")
                                  (error (format "%S" (car problem)))))
         segue-probe-lines))

(defun segue-probe-set (variable value)
  "Set VARIABLE to VALUE in this buffer."
  (set (make-local-variable (indirect-variable variable)) value))

(defmacro segue-probe-buffer (&rest body)
  "Do BODY in a new text buffer that visits a file."
  (declare (indent 0))
  `(with-temp-buffer
     (text-mode)
     (setq buffer-file-name (make-temp-name "/nowhere/"))
     (unwind-protect (progn ,@body)
       (set-buffer-modified-p nil)
       (setq buffer-file-name nil))))

(defconst segue-probe-presets
  '((plain :description "Plain." :model gpt-4o :backend "Test" :system "Be brief." :temperature 0.5
           :tools ("read_file") :max-tokens 9 :num-messages-to-send 3)
    (empty :description "Empty.")
    (child :parents plain :temperature 0.7)
    (off :tools nil :temperature nil :system nil)
    (directive :system default)
    (computed :system (lambda () "Computed."))
    (lost :tools ("nothing"))
    (nowhere :backend "Nothing")
    (orphan :parents nobody)))

(defconst segue-probe-states
  '(nil
    ((gptel-temperature . 0.8)) ((gptel-temperature . nil)) ((gptel-model . gpt-5)) ((gptel-max-tokens . nil))
    ((gptel-tools . nil)) ((gptel--system-message . "Other.\n\"x\"")) ((gptel--system-message . nil))
    ((gptel--num-messages-to-send . 4)) ((gptel--num-messages-to-send . nil)))
  "What a user may have changed after a preset was applied.")

(defun segue-probe-run ()
  "Note all cases, and write them."
  (dolist (variable '(gptel-temperature gptel-max-tokens gptel--num-messages-to-send gptel--preset gptel--bounds
                                        gptel--tool-names gptel-tools gptel-response-separator))
    (segue-probe (format "default %s" variable) (default-value variable)))
  (let ((gptel--known-presets nil))
    (dolist (preset segue-probe-presets) (apply #'gptel-make-preset preset))
    (segue-probe-apply)
    (segue-probe-mismatches)
    (dolist (preset '(plain empty child off nil))
      (dolist (state segue-probe-states) (segue-probe-save preset state)))
    (segue-probe-restore))
  (segue-probe-mode)
  (segue-probe-bounds)
  (segue-probe-send)
  (let ((coding-system-for-write 'utf-8))
    (write-region (string-join (nreverse segue-probe-lines) "\n") nil (getenv "SEGUE_TEST_RESULTS") nil 'quiet)))

(defun segue-probe-apply ()
  "Note what applying every preset sets."
  (dolist (preset (append (mapcar #'car segue-probe-presets) '(nobody)))
    (segue-probe (format "apply %s" preset)
      (segue-probe-buffer
        (let (calls)
          (gptel--apply-preset preset (lambda (variable value)
                                        (push variable calls)
                                        (set (make-local-variable variable) value)))
          (list (nreverse calls) (segue-all-settings) (local-variable-p 'gptel-temperature)
                (default-value 'gptel--preset))))))
  (segue-probe "apply a description"
    (segue-probe-buffer
      (gptel--apply-preset '(:temperature 0.1) #'segue-probe-set)
      (list gptel-temperature gptel--preset)))
  (segue-probe "apply with functions before and after"
    (let (calls)
      (gptel-make-preset 'busy :temperature 0.2 :pre (lambda () (push 'before calls)) :post (lambda () (push 'after calls)))
      (segue-probe-buffer (gptel--apply-preset 'busy (lambda (variable _) (push variable calls))))
      (nreverse calls)))
  (segue-probe "an unknown preset" (gptel-get-preset 'nobody))
  (segue-probe "a tool" (gptel-tool-name (gptel-get-tool "read_file")))
  (segue-probe "an unknown tool" (gptel-get-tool "nothing")))

(defun segue-probe-mismatches ()
  "Note which values differ from a preset."
  (dolist (preset '(plain empty off directive computed nil))
    (pcase-dolist (`(,key . ,values) `((:model gpt-4o gpt-5 nil) (:temperature 0.5 0.8 nil) (:max-tokens 9 nil)
                                       (:system "Be brief." "Other." nil) (:tools ("read_file") ("a" "b") nil)
                                       (:backend ,gptel-backend nil) (:num-messages-to-send 3 4 nil)))
      (dolist (value values)
        (segue-probe (format "mismatch %s %s %s" preset key (if (gptel-backend-p value) "object" value))
          (and (gptel--preset-mismatch-value (gptel-get-preset preset) key value) t))))))

(defun segue-probe-save (preset state)
  "Note what is saved when PRESET was applied and then changed to STATE."
  (segue-probe (format "save %s %S" preset state)
    (segue-probe-buffer
      (insert "### Hi\n\n" (propertize "Hello." 'gptel 'response) "\n")
      (when preset (gptel--apply-preset preset #'segue-probe-set))
      (pcase-dolist (`(,variable . ,value) state) (segue-probe-set variable value))
      (unless preset (segue-probe-set 'gptel--system-message "Known."))
      (gptel--save-state)
      (buffer-substring-no-properties (point-min) (point-max)))))

(defun segue-probe-restore ()
  "Note what variables of a file become."
  (dolist (saved '(((gptel--preset . plain)) ((gptel--preset . plain) (gptel-temperature . 0.8))
                   ((gptel--preset . plain) (gptel--tool-names)) ((gptel-temperature . 0.8))
                   ((gptel--backend-name . "Other")) ((gptel--tool-names "read_file"))))
    (segue-probe (format "restore %S" saved)
      (segue-probe-buffer
        (segue-probe-set 'gptel--system-message "Known.")
        (pcase-dolist (`(,variable . ,value) saved) (segue-probe-set variable value))
        (gptel--restore-state)
        (segue-all-settings)))))

(defun segue-probe-mode ()
  "Note what the mode turns on and off."
  (segue-probe "mode"
    (segue-probe-buffer
      (let (modes)
        (add-hook 'gptel-mode-hook (lambda () (push gptel-mode modes)) nil t)
        (gptel-mode 1)
        (push (and (memq 'gptel--save-state before-save-hook) t) modes)
        (push (lookup-key gptel-mode-map (kbd "C-c RET")) modes)
        (gptel-mode -1)
        (push (and (memq 'gptel--save-state before-save-hook) t) modes)
        (nreverse modes))))
  (segue-probe "mode in code" (with-temp-buffer (emacs-lisp-mode) (gptel-mode 1))))

(defun segue-probe-bounds ()
  "Note how answers are marked, and how marks grow."
  (dolist (bounds '(((response (3 6) (8 9)) (tool (10 12 "id"))) ((ignore (1 3))) ((2 . 5) (7 . 8)) nil))
    (segue-probe (format "bounds %S" bounds)
      (segue-probe-buffer
        (insert "0123456789abcdef")
        (gptel-mode 1)
        (gptel--restore-props bounds)
        (let ((before (gptel--get-buffer-bounds)))
          (dolist (place '(4 6 1)) (goto-char place) (insert "new"))
          (list before (gptel--get-buffer-bounds)))))))

(defun segue-probe-send ()
  "Note what would be sent, and where an answer comes."
  (segue-probe-buffer
    (insert "### Hi\n\nThere\n\nand more")
    (gptel-mode 1)
    (dolist (place (list (point-max) 7))
      (goto-char place)
      (segue-probe (format "send from %s" place) (segue-gptel-sent)))
    (transient-mark-mode 1)
    (push-mark 3 t t)
    (segue-probe "send a region" (segue-gptel-sent))
    (deactivate-mark))
  (segue-probe "an answer in pieces"
    (segue-probe-buffer
      (insert "### Hi\n\nmore")
      (goto-char 7)
      (let ((info (list :buffer (current-buffer) :position (point-marker) :stream t :http-status "200")))
        (dolist (piece '("One " "two.")) (gptel-curl--stream-insert-response piece info))
        (list (buffer-substring-no-properties (point-min) (point-max)) (gptel--get-buffer-bounds)
              (marker-position (plist-get info :position)))))))

(provide 'segue-probe)
;;; segue-probe.el ends here
