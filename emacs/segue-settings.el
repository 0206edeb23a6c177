;;; segue-settings.el --- The settings of a session, in gptel's variables  -*- lexical-binding: t; -*-

;; Author: The Segue authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The settings in which a session may differ from its preset: what they are in this
;; buffer, and what they would be with the preset alone.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'segue-files)
(require 'segue-values)

(defvar gptel--known-backends)
(defvar gptel-backend)
(defvar gptel-tools)
(declare-function gptel--apply-preset "gptel")
(declare-function gptel--parse-directive "gptel-request")
(declare-function gptel-backend-name "gptel-request")
(declare-function gptel-get-preset "gptel")
(declare-function gptel-get-tool "gptel-request")
(declare-function gptel-tool-name "gptel-request")

(defconst segue-settings
  '((gptel-model :model segue--name-p)
    (gptel--backend-name :backend segue--text-p)
    (gptel--system-message :system-message segue--text-or-none-p)
    (gptel--tool-names :tools segue--names-p)
    (gptel-temperature :temperature segue--number-or-none-p)
    (gptel-max-tokens :max-tokens segue--count-or-none-p)
    (gptel--num-messages-to-send :num-messages segue--count-or-none-p))
  "The settings in which a session may differ from its preset.
For each: gptel's variable, its name in the JSON, and a predicate.")

(defun segue--text-p (value)
  "Return whether VALUE is a string without properties."
  (and (stringp value) (segue-plain-p value)))

(defun segue--text-or-none-p (value)
  "Return whether VALUE is a string without properties, or nil."
  (or (null value) (segue--text-p value)))

(defun segue--number-or-none-p (value)
  "Return whether VALUE is a number or nil."
  (or (null value) (numberp value)))

(defun segue--count-or-none-p (value)
  "Return whether VALUE is a natural number or nil."
  (or (null value) (natnump value)))

(defun segue--name-p (value)
  "Return whether VALUE can name a model."
  (or (segue--text-p value) (and value (symbolp value))))

(defun segue--names-p (value)
  "Return whether VALUE is a list of names."
  (and (proper-list-p value) (seq-every-p #'segue--text-p value)))

(defun segue-all-settings ()
  "Return the value of every setting in this buffer, as an alist."
  (mapcar (lambda (row) (cons (car row) (segue-setting (car row)))) segue-settings))

(defun segue-preset-settings (preset)
  "Return the settings of a buffer in which only PRESET was applied, as an alist.
Return nil if gptel cannot apply it."
  (when-let ((description (and preset (gptel-get-preset preset))))
    (cl-letf (((symbol-function 'display-warning) #'ignore))
      (condition-case nil
          (with-temp-buffer
            (gptel--apply-preset (cl-loop for (key value) on description by #'cddr
                                          unless (memq key '(:pre :post)) append (list key value))
                                 (lambda (variable value) (set (make-local-variable variable) value)))
            (segue-all-settings))
        (error nil)))))

(defun segue-setting (variable)
  "Return the value of VARIABLE, one of `segue-settings', in this buffer."
  (pcase variable
    ('gptel--backend-name (and gptel-backend (gptel-backend-name gptel-backend)))
    ('gptel--tool-names (mapcar #'gptel-tool-name gptel-tools))
    (_ (let ((value (symbol-value (indirect-variable variable))))
         (if (and (eq variable 'gptel--system-message) value (not (stringp value)))
             (car-safe (gptel--parse-directive value))
           value)))))

(defun segue-set (variable value)
  "Set VARIABLE to VALUE in this buffer, and what it means for gptel if loaded."
  (set (make-local-variable (indirect-variable variable)) value)
  (when (featurep 'gptel)
    (pcase variable
      ('gptel--backend-name
       (if-let ((backend (segue-known-backend value)))
           (setq-local gptel-backend backend)
         (segue--warn "gptel has no backend %s; the file keeps the setting" value)))
      ('gptel--tool-names
       (setq-local gptel-tools (delq nil (mapcar #'segue-known-tool value)))))))

(defun segue-known-backend (name)
  "Return gptel's backend NAME, or nil."
  (cdr (assoc name gptel--known-backends)))

(defun segue-known-tool (name)
  "Return gptel's tool NAME, or nil."
  (let ((found (ignore-errors (gptel-get-tool name))))
    (and found (not (listp found)) found)))

(provide 'segue-settings)
;;; segue-settings.el ends here
