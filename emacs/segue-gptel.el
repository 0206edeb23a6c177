;;; segue-gptel.el --- A session in gptel: preset, bounds and saving  -*- lexical-binding: t; -*-

;; Author: The Segue authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; What is done with gptel if it is installed.  Reading a session and writing in it
;; works without this.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'segue-files)
(require 'segue-footer)

(defvar gptel--backend-name)
(defvar gptel--bounds)
(defvar gptel--known-presets)
(defvar gptel--tool-names)
(defvar gptel-mode)
(declare-function gptel--apply-preset "gptel")
(declare-function gptel--create-prompt-buffer "gptel-request")
(declare-function gptel--restore-props "gptel")
(declare-function gptel-get-preset "gptel")
(declare-function gptel-make-preset "gptel")
(declare-function gptel-mode "gptel")

(defun segue--load-gptel ()
  "Load gptel, and return whether that worked."
  (condition-case problem
      (require 'gptel nil t)
    (error (segue--warn "gptel cannot be loaded: %s" (error-message-string problem)) nil)))

(defvar segue--presets nil "The presets that were defined in gptel from here.")

(defun segue--editor-presets ()
  "Return arguments that name the presets of gptel that were not defined from here."
  (when (segue--load-gptel)
    (mapcan (lambda (entry)
              (unless (memq (car entry) segue--presets)
                (list "--editor-preset" (format "%s" (car entry)))))
            (copy-sequence gptel--known-presets))))

(defun segue--define-preset (preset answer)
  "Define PRESET in gptel from ANSWER unless it exists; return whether it exists.
Saving would remove an unknown preset from the file."
  (let ((settings (plist-get answer :preset-settings)))
    (when (and answer (or (not (gptel-get-preset preset)) (and settings (memq preset segue--presets))))
      (apply #'gptel-make-preset preset (segue--preset-description settings))
      (cl-pushnew preset segue--presets))
    (assq preset gptel--known-presets)))

(defun segue--apply-preset (preset)
  "Apply PRESET in this buffer; return whether that worked."
  (condition-case problem
      (progn (gptel--apply-preset preset (lambda (variable value) (set (make-local-variable variable) value))) t)
    (error (segue--warn "gptel cannot apply the preset %s: %s" preset (error-message-string problem)) nil)))

(defun segue--preset-description (settings)
  "Return gptel's description of a preset with these SETTINGS.
Tools and backends that gptel does not know are left out: they would be errors."
  (let ((names '((:system-message . :system) (:num-messages . :num-messages-to-send)))
        (description (list :description "A preset of Segue")))
    (pcase-dolist (`(,_ ,key ,_) segue-settings)
      (let* ((value (plist-get settings key))
             (usable (pcase key
                       (:model (and value (intern value)))
                       (:backend (and value (segue-known-backend value) value))
                       (:tools (seq-filter #'segue-known-tool value))
                       (_ value))))
        (when usable
          (setq description (plist-put description (alist-get key names key) usable)))))
    description))

(defun segue--start-gptel ()
  "Turn on `gptel-mode' in this buffer."
  (segue--watch-gptel)
  (add-hook 'gptel-mode-hook #'segue--take-over-saving nil t)
  ;; It may fail on tools and backends that it does not know.
  (setq-local gptel--tool-names nil gptel--backend-name nil)
  (condition-case problem
      (gptel-mode 1)
    (error (segue--warn "gptel could not restore everything: %s" (error-message-string problem)))))

(defun segue--take-over-saving ()
  "Save gptel's state into the footer of this file, not into text like one."
  (remove-hook 'before-save-hook 'gptel--save-state t)
  (if gptel-mode
      (progn
        (add-hook 'before-save-hook #'segue-footer-save nil t)
        (add-hook 'gptel-pre-response-hook #'segue--before-answer nil t))
    (remove-hook 'before-save-hook #'segue-footer-save t)
    (remove-hook 'gptel-pre-response-hook #'segue--before-answer t)))

(defun segue--before-answer ()
  "Write a footer, unless there is one, before an answer arrives.
Each piece of a streamed answer is inserted where the last one ended.
At the end of the buffer, a footer that is saved meanwhile would come
between two pieces."
  (unless (segue-footer-start)
    (segue-footer-save)))

(defconst segue--watched
  '(gptel--preset gptel-model gptel-backend gptel--system-message gptel-tools
    gptel-temperature gptel-max-tokens gptel--num-messages-to-send)
  "The variables of gptel that are saved in a session.")

(defun segue--watch-gptel ()
  "Watch gptel in all sessions: what is changed there, and what is sent.
Buffers that are not sessions are not affected."
  (dolist (variable segue--watched)
    (add-variable-watcher variable #'segue--setting-changes))
  (advice-add 'gptel-request :before #'segue--before-request)
  (when (fboundp 'gptel--create-prompt-buffer)
    (advice-add 'gptel--create-prompt-buffer :around #'segue--prompt-without-footer)))

(defun segue--setting-changes (variable value operation where)
  "Mark the session WHERE as modified if VARIABLE gets another VALUE there.
OPERATION is as for `add-variable-watcher'.  Otherwise saving would do nothing."
  (when (and (bufferp where)
             (buffer-live-p where)
             (eq operation 'set)
             (buffer-local-value 'segue--remembered where)
             (not (equal value (buffer-local-value variable where))))
    (with-current-buffer where
      (set-buffer-modified-p t))))

(defun segue--before-request (&optional prompt &rest arguments)
  "Leave the footer, where an answer must not be inserted.
PROMPT and ARGUMENTS are those of `gptel-request'."
  (when (and segue--remembered (null prompt) (null (plist-get arguments :position)) (not (use-region-p)))
    (segue-footer-leave)))

(defun segue--prompt-without-footer (make-buffer &rest arguments)
  "Return the buffer with the prompt, without what is in the footer of a session.
MAKE-BUFFER is `gptel--create-prompt-buffer', which gets ARGUMENTS."
  (let ((lines (and segue--remembered (segue-footer--lines)))
        (first (if (use-region-p) (region-beginning) (point-min)))
        (prompt (apply make-buffer arguments))
        (inhibit-read-only t))          ; the footer may be protected
    (with-current-buffer prompt
      (pcase-dolist (`(,start . ,end) (reverse lines))
        (let ((start (max (point-min) (- start first -1))) (end (min (point-max) (- end first -1))))
          (when (< start end) (delete-region start end)))))
    prompt))

(defun segue--mark-bounds ()
  "Mark in this buffer who wrote what, according to `gptel--bounds'."
  (setq segue--has-footer (and (segue-footer-start) t))
  (when (bound-and-true-p gptel-mode)
    (with-silent-modifications
      (save-restriction
        (widen)
        (remove-list-of-text-properties (point-min) (point-max) '(gptel front-sticky)))
      (gptel--restore-props gptel--bounds))))

(provide 'segue-gptel)
;;; segue-gptel.el ends here
