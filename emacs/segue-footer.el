;;; segue-footer.el --- The footer of session.md: preset and settings  -*- lexical-binding: t; -*-

;; Author: The Segue authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; After the last form feed there is a line of Segue, which is never changed here,
;; and the list of file-local variables.  Emacs reads that list only if it begins
;; within the last 3000 characters, and the bounds of a long conversation alone are
;; longer.  So values that are too long come before the list, all of them are read
;; here, and gptel saves into an empty list, which is then merged.

;;; Code:

(require 'seq)
(require 'subr-x)
(require 'segue-files)
(require 'segue-values)

(defvar gptel--bounds)
(defvar gptel--known-backends)
(defvar gptel--preset)
(defvar gptel-backend)
(defvar gptel-temperature)
(defvar gptel-tools)
(declare-function gptel--save-state "gptel")
(declare-function gptel-backend-name "gptel-request")
(declare-function gptel-get-preset "gptel")
(declare-function gptel-get-tool "gptel-request")
(declare-function gptel-tool-name "gptel-request")

(defconst segue-settings
  '((gptel-model :model segue--name-p)
    (gptel--backend-name :backend segue--text-p)
    (gptel--system-message :system-message segue--text-p)
    (gptel--tool-names :tools segue--names-p)
    (gptel-temperature :temperature numberp)
    (gptel-max-tokens :max-tokens natnump)
    (gptel--num-messages-to-send :num-messages natnump))
  "The settings in which a session may differ from its preset.
For each: gptel's variable, its name in the JSON, and a predicate.")

(defconst segue--variables
  (append segue-settings '((gptel--preset nil symbolp) (gptel--bounds nil segue--bounds-p)))
  "All variables of a footer that are used here.")

(defun segue--text-p (value)
  "Return whether VALUE is a string without properties."
  (and (stringp value) (segue-plain-p value)))

(defun segue--name-p (value)
  "Return whether VALUE can name a model."
  (or (segue--text-p value) (and value (symbolp value))))

(defun segue--names-p (value)
  "Return whether VALUE is a list of names."
  (and (proper-list-p value) (seq-every-p #'segue--text-p value)))

(defun segue--bounds-p (value)
  "Return whether VALUE can be the bounds of a text."
  (and (proper-list-p value) (seq-every-p #'consp value) (segue-plain-p value)))

;; If `segue-mode' is off, Emacs itself reads the list.  It asks before it sets a
;; variable that is not declared safe, and gptel, which does that, may not be loaded.
(pcase-dolist (`(,variable ,_ ,predicate) segue--variables)
  (unless (get variable 'safe-local-variable)
    (put variable 'safe-local-variable predicate)))

;;;; Reading

(defconst segue-footer--begin "<!-- Local Variables: -->")
(defconst segue-footer--end "<!-- End: -->")
(defconst segue-footer--around "\\([^[:alnum:]\"' \t\n]\\{0,8\\}[ \t]*\\)"
  "What makes a line a comment, in any language.")
(defconst segue-footer--any-begin
  (format "^%sLocal Variables:[ \t]*%s$" segue-footer--around segue-footer--around))
(defconst segue-footer--any-end (format "^%sEnd:[ \t]*%s$" segue-footer--around segue-footer--around))
(defconst segue-footer--variable "<!-- \\([[:alnum:]*+_-]+\\): \\(.*\\) -->$")
(defconst segue-footer--mark "^<!-- segue [^<>\n]* -->$")

(defun segue-footer-start ()
  "Return where the footer begins, or nil if there is none.
That is the last form feed if the line of Segue follows it, else the list that
ends the file, else the last form feed if any list follows it."
  (save-excursion
    (let* ((case-fold-search t)
           (feed (progn (goto-char (point-max)) (and (search-backward "\n\f" nil t) (1+ (point)))))
           (follows (lambda (pattern) (and feed (goto-char feed) (re-search-forward pattern nil t)))))
      (or (and (funcall follows segue-footer--mark) feed)
          (segue-footer--list-start)
          (and (funcall follows segue-footer--any-begin) feed)))))

(defun segue-footer--list-start ()
  "Return the start of the list that ends the file, including our lines above it."
  (goto-char (point-max))
  (skip-chars-backward " \t\n")
  (beginning-of-line)
  (when (looking-at segue-footer--any-end)
    (let ((around (list (match-string 1) (match-string 2))) (is-found nil))
      (while (and (not is-found) (re-search-backward segue-footer--any-begin nil t))
        (setq is-found (equal around (list (match-string 1) (match-string 2)))))
      (when is-found
        (let ((is-ours t))
          (while (and is-ours (zerop (forward-line -1)))
            (setq is-ours (or (looking-at-p segue-footer--mark)
                              (and (looking-at segue-footer--variable) (segue-footer--known (match-string 1))))))
          (cond (is-ours (point))
                ((eq (char-before (line-end-position)) ?\f) (1- (line-end-position)))
                (t (forward-line 1) (point))))))))

(defun segue-footer--walk (start visit)
  "Call VISIT at every line from START on, with the kind of the line.
That is a cons of name and text for a variable, in the list or before it, a
string for the line of Segue, `frame' for the lines around the list, and nil for
what the user typed.  If VISIT returns non-nil, it has removed the line."
  (save-excursion
    (goto-char start)
    (let ((case-fold-search t) (is-begun nil) (variable nil) (end nil))
      (while (not (eobp))
        (let ((line (cond
                     ((looking-at segue-footer--any-begin)
                      (let ((before (regexp-quote (match-string 1))) (after (regexp-quote (match-string 2))))
                        (setq is-begun t
                              end (concat before "[ \t]*End:[ \t]*" after "$")
                              variable (concat before "[ \t]*\\([[:alnum:]*+_-]+\\)[ \t]*:[ \t]*\\(.*?\\)[ \t]*"
                                               after "$")))
                      'frame)
                     ((and end (looking-at-p end)) (setq end nil variable nil) 'frame)
                     ((looking-at-p "\f$") 'frame)
                     ((or (and variable (looking-at variable))
                          (and (not is-begun) (looking-at segue-footer--variable)
                               (segue-footer--known (match-string 1))))
                      (cons (intern (match-string-no-properties 1)) (match-string-no-properties 2)))
                     ((looking-at segue-footer--mark) (match-string-no-properties 0)))))
          (unless (funcall visit line) (forward-line 1)))))))

(defun segue-footer-read ()
  "Return the known variables of the footer that have valid values, as an alist.
Nothing is evaluated, and no string has properties."
  (let ((found nil) (start (segue-footer-start)))
    (when start
      (segue-footer--walk
       start
       (lambda (line)
         (when-let ((known (segue-footer--known (car-safe line))))
           (let ((value (condition-case nil (segue-read (cdr line)) (segue-bad-value 'segue--unreadable))))
             (when (and (not (eq value 'segue--unreadable)) (funcall (nth 2 known) value))
               (setf (alist-get (car known) found) value))))
         nil)))
    found))

(defun segue-footer--canonical (variable)
  "Return the name under which VARIABLE is written: newer gptels renamed one."
  (if (eq variable 'gptel-system-prompt) 'gptel--system-message variable))

(defun segue-footer--known (variable)
  "Return the row of VARIABLE, a symbol or its name, in `segue--variables', or nil."
  (assq (segue-footer--canonical (if (stringp variable) (intern-soft variable) variable)) segue--variables))

(defun segue-footer-fitting (bounds)
  "Return BOUNDS without those that are outside of the buffer.
Another editor may have changed the text and left them unchanged."
  (let ((fits (lambda (bound)
                (pcase bound
                  ((or `(,(and (pred natnump) beg) ,(and (pred natnump) end) . ,_)
                       `(,(and (pred natnump) beg) . ,(and (pred natnump) end)))
                   (<= (point-min) beg end (point-max)))))))
    (if (symbolp (caar bounds))
        (mapcar (lambda (entry) (cons (car entry) (seq-filter fits (cdr entry)))) bounds)
      (seq-filter fits bounds))))

;;;; Writing

(defun segue-footer--take ()
  "Remove the footer and return it: the line of Segue, then its variables.
Text that was typed between and below its lines stays, as part of the text."
  (let (mark variables (start (segue-footer-start)))
    (when start
      (save-excursion
        (goto-char start)
        (when (looking-at-p "\f[^\n]") (delete-char 1)))
      (segue-footer--walk
       start
       (lambda (line)
         (pcase line
           ((pred consp) (setf (alist-get (segue-footer--canonical (car line)) variables) (cdr line)))
           ((pred stringp) (setq mark line)))
         (when line
           (delete-region (point) (min (point-max) (1+ (line-end-position))))
           t)))
      (when (string-blank-p (buffer-substring start (point-max)))
        (delete-region start (point-max))))
    (cons mark (nreverse variables))))

(defconst segue-footer--limit 3000
  "Emacs finds a list that begins within this many characters of the end.")

(defun segue-footer--put (mark variables)
  "Write the footer: MARK, which is the line of Segue or nil, and VARIABLES.
The longest come before the list if Emacs would not find the list otherwise."
  (goto-char (point-max))
  (unless (and (bolp) (not (bobp))) (insert "\n"))
  (insert "\f\n" (if mark (concat mark "\n") ""))
  (let* ((room (- segue-footer--limit (length segue-footer--begin) (length segue-footer--end) 2))
         (is-longer (lambda (one other) (> (length (cdr one)) (length (cdr other)))))
         (known (seq-filter (lambda (entry) (segue-footer--known (car entry))) variables)))
    (dolist (longest (seq-sort is-longer known))
      (when (> (seq-reduce (lambda (size entry) (+ size (length (segue-footer--line entry)))) variables 0) room)
        (insert (segue-footer--line longest))
        (setq variables (remq longest variables)))))
  (insert segue-footer--begin "\n" (mapconcat #'segue-footer--line variables "") segue-footer--end "\n"))

(defun segue-footer--line (entry)
  "Return the line of ENTRY, a variable and its text.
The text must not look like the beginning of a list."
  (let ((case-fold-search t))
    (format "<!-- %s: %s -->\n" (car entry)
            (replace-regexp-in-string "\\(local\\) \\(variables\\)" "\\1\\\\s\\2" (cdr entry)))))

(defvar-local segue--remembered nil
  "The preset and the settings when the file was last read or written.")

(defvar-local segue--has-footer nil
  "Whether the file had a footer then.
If not, a text that looks like a footer was typed by the user.")

(defun segue-remember-settings ()
  "Remember the settings: what differs later was changed by the user."
  (setq segue--has-footer (and (segue-footer-start) t)
        segue--remembered
        (cons gptel--preset (mapcar (lambda (row) (cons (car row) (segue-setting (car row)))) segue-settings))))

(defun segue-footer-save ()
  "Save with gptel what differs from the preset, into the only footer of the file.
What was not changed in this Emacs stays unchanged, even if it is unknown here."
  (save-excursion
    (save-restriction
      (widen)
      (condition-case problem
          (atomic-change-group
            (pcase-let ((`(,mark . ,old) (and segue--has-footer (segue-footer--take))))
              (segue-footer--put mark (segue-footer--others old))
              (gptel--save-state)
              (let ((new (cdr (segue-footer--take))))
                (segue-footer--put mark (segue-footer--merged old new))))
            (segue-remember-settings))
        (error (segue--warn "the settings were not saved with the text: %s" (error-message-string problem)))))))

(defun segue-footer--others (variables)
  "Return those of VARIABLES that are not gptel's."
  (seq-remove (lambda (entry) (assq (car entry) segue--variables)) variables))

(defun segue-footer--merged (old new)
  "Return what to write: the variables of NEW where a setting changed, else OLD."
  (let ((is-same-preset (eq gptel--preset (car segue--remembered))))
    (append
     (and gptel--preset (list (cons 'gptel--preset (segue-printed gptel--preset))))
     (delq nil (mapcar (lambda (row)
                         (let* ((variable (car row))
                                (before (alist-get variable (cdr segue--remembered)))
                                (is-same (and is-same-preset (equal (segue-setting variable) before))))
                           (if is-same (assq variable old) (segue-footer--changed variable new))))
                       segue-settings))
     (segue-footer--others new)
     (seq-filter (lambda (entry) (eq (car entry) 'gptel--bounds)) new))))

(defun segue-footer--changed (variable new)
  "Return VARIABLE as it is in NEW, which is what gptel wrote.
gptel leaves out a temperature that is its default, whatever the preset has."
  (when (or (assq variable new)
            (and (eq variable 'gptel-temperature)
                 (not (equal gptel-temperature (plist-get (gptel-get-preset gptel--preset) :temperature)))))
    (cons variable (segue-printed (segue-setting variable)))))

;;;; Settings of the buffer

(defun segue-setting (variable)
  "Return the value of VARIABLE, one of `segue-settings', in this buffer."
  (pcase variable
    ('gptel--backend-name (and gptel-backend (gptel-backend-name gptel-backend)))
    ('gptel--tool-names (mapcar #'gptel-tool-name gptel-tools))
    (_ (symbol-value (indirect-variable variable)))))

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

(provide 'segue-footer)
;;; segue-footer.el ends here
