;;; segue-gptel-support.el --- gptel, or its double, for tests  -*- lexical-binding: t; -*-

;;; Commentary:

;; The load path decides which one it is: upstream gptel, or emacs/test/double.

;;; Code:

(require 'compat nil t)
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
(setq-default gptel-backend (gptel-get-backend "Test") gptel-model 'gpt-5
              gptel-system-prompt "Be of help." gptel-directives '((default . "Be of help.")))
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

(defun segue-gptel-lines (file)
  "Return the variables in the footer of FILE with their printed values, as saved."
  (with-temp-buffer
    (insert-file-contents file)
    (cdr (segue-footer--take))))

(defun segue-gptel-press (keys)
  "Press KEYS in this buffer, as a user does."
  (save-window-excursion
    (switch-to-buffer (current-buffer))
    (execute-kbd-macro (kbd keys))))

(defun segue-gptel-sent ()
  "Return the text that gptel would send from here."
  (let* ((sent nil)
         (look (lambda (buffer) (setq sent (with-current-buffer buffer (buffer-string))) buffer)))
    (advice-add 'gptel--create-prompt-buffer :filter-return look '((depth . -100)))
    (unwind-protect (gptel-request nil :dry-run t)
      (advice-remove 'gptel--create-prompt-buffer look))
    (substring-no-properties sent)))

(provide 'segue-gptel-support)
;;; segue-gptel-support.el ends here
