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

(defun segue--mark-bounds ()
  "Mark in this buffer who wrote what, according to `gptel--bounds'."
  (setq segue--has-footer (and (segue-footer-start) t))
  (when (bound-and-true-p gptel-mode)
    (with-silent-modifications
      (save-restriction
        (widen)
        (remove-list-of-text-properties (point-min) (point-max) '(gptel front-sticky))))
    (gptel--restore-props gptel--bounds)))

(provide 'segue-gptel)
;;; segue-gptel.el ends here
