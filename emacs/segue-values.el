;;; segue-values.el --- Values from files: numbers, strings, names and lists  -*- lexical-binding: t; -*-

;; Author: The Segue authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A session may come from an untrusted source.  The reader of Emacs accepts far
;; more than a footer needs, and some of that is dangerous: a string with the
;; property `display' runs Lisp as soon as it is shown.  So a footer is read here,
;; by a reader that accepts only numbers, plain strings, names and lists.

;;; Code:

(defconst segue-values--depth 50
  "The greatest depth of nested lists; bounds have a depth of three.")

(defconst segue-values--string "\"\\(?:[^\"\\]\\|\\\\\\(?:.\\|\n\\)\\)*\""
  "A string, whose escapes can only be characters.")

(defconst segue-values--atom "\\(?:[^][()\"'`,;\\ \t\n\r\f]\\|\\\\.\\)+"
  "A number, a name or a dot.")

(defconst segue-values--integer "\\`[+-]?[0-9]\\{1,18\\}\\'")

(defconst segue-values--float
  "\\`[+-]?\\(?:\\(?:[0-9]+\\.[0-9]+\\|\\.[0-9]+\\)\\(?:e[+-]?[0-9]+\\)?\\|[0-9]+e[+-]?[0-9]+\\)\\'")

(define-error 'segue-bad-value "This is not a plain value")

(defun segue-read (text)
  "Return the one value in TEXT, which is Lisp's printed form.
Signal `segue-bad-value' for all but numbers, plain strings, names and lists."
  (with-temp-buffer
    (insert text)
    (goto-char (point-min))
    (let* ((case-fold-search nil) (value (segue-values--read 0)))
      (segue-values--skip)
      (if (eobp) value (signal 'segue-bad-value '("more than one value"))))))

(defun segue-values--skip ()
  "Skip blanks."
  (skip-chars-forward " \t\n\r\f"))

(defun segue-values--read (depth)
  "Return the value at point, inside of DEPTH lists, and move after it."
  (segue-values--skip)
  (cond
   ((looking-at-p "[#?]") (signal 'segue-bad-value '("it is not of a plain kind")))
   ((looking-at segue-values--string)
    (goto-char (match-end 0))
    (condition-case nil
        (substring-no-properties (car (read-from-string (match-string-no-properties 0))))
      (error (signal 'segue-bad-value '("a string has invalid escapes")))))
   ((eq (char-after) ?\()
    (when (= depth segue-values--depth) (signal 'segue-bad-value '("it is nested too deeply")))
    (forward-char 1)
    (segue-values--read-list (1+ depth)))
   ((looking-at segue-values--atom)
    (goto-char (match-end 0))
    (segue-values--named (match-string-no-properties 0)))
   (t (signal 'segue-bad-value '("it ends too early, or is not Lisp")))))

(defun segue-values--read-list (depth)
  "Return the list at point, at DEPTH, and move after its end."
  (let ((items nil) (rest nil) (is-done nil))
    (while (not is-done)
      (segue-values--skip)
      (cond
       ((eq (char-after) ?\)) (forward-char 1) (setq is-done t))
       ((and items (looking-at "\\.[ \t\n]"))
        (goto-char (match-end 0))
        (setq rest (segue-values--read depth) is-done t)
        (segue-values--skip)
        (if (eq (char-after) ?\)) (forward-char 1) (signal 'segue-bad-value '("a pair has more than two values"))))
       (t (push (segue-values--read depth) items))))
    (nconc (nreverse items) rest)))

(defun segue-values--named (text)
  "Return the number or the name in TEXT."
  (cond
   ((string-match-p segue-values--integer text) (string-to-number text))
   ((string-match-p "\\`[+-]?[0-9]+\\'" text) (signal 'segue-bad-value '("a number is too large")))
   ((string-match-p segue-values--float text)
    (let ((number (string-to-number text)))
      (if (= (abs number) 1.0e+INF) (signal 'segue-bad-value '("a number is too large")) number)))
   ((equal text ".") (signal 'segue-bad-value '("a dot alone")))
   (t (intern (replace-regexp-in-string "\\\\\\(.\\)" "\\1" text t)))))

(defun segue-plain (value)
  "Return VALUE without properties on any string in it.
Anything but a number, string, name or list becomes nil."
  (cond
   ((stringp value) (substring-no-properties value))
   ((proper-list-p value) (mapcar #'segue-plain value))
   ((consp value) (cons (segue-plain (car value)) (segue-plain (cdr value))))
   ((or (symbolp value) (numberp value)) value)))

(defun segue-plain-p (value)
  "Return whether VALUE is of plain kinds, without properties on any string in it."
  (while (and (consp value) (segue-plain-p (car value))) (setq value (cdr value)))
  (cond
   ((stringp value) (not (or (text-properties-at 0 value) (next-property-change 0 value))))
   (t (or (symbolp value) (numberp value)))))

(defun segue-printed (value)
  "Return VALUE in printed form, independent of the printer settings."
  (let ((print-length nil) (print-level nil) (print-circle nil) (print-quoted nil) (print-gensym nil)
        (print-escape-newlines t) (print-escape-control-characters t) (float-output-format nil))
    (prin1-to-string (segue-plain value))))

(provide 'segue-values)
;;; segue-values.el ends here
