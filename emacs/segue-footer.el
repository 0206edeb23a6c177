;;; segue-footer.el --- The footer of session.md: preset and settings  -*- lexical-binding: t; -*-

;; Author: The Segue authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; After the last form feed there is a line of Segue, which is never changed here,
;; and the list of file-local variables.  Emacs reads that list only if it begins
;; within the last 3000 characters, and the bounds of a long conversation alone are
;; longer.  So values that are too long come before the list, all of them are read
;; here, and what gptel saves is collected and merged, not written by gptel.
;;
;; A variable that is nil turns a setting off, and wins over the preset.  Without a
;; line, the setting is that of the preset.

;;; Code:

(require 'cl-lib)
(require 'files-x)
(require 'seq)
(require 'subr-x)
(require 'segue-files)
(require 'segue-settings)
(require 'segue-values)

(defvar gptel--bounds)
(defvar gptel--preset)
(declare-function gptel--save-state "gptel")

(defconst segue--variables
  (append segue-settings '((gptel--preset nil symbolp) (gptel--bounds nil segue--bounds-p)))
  "All variables of a footer that are used here.")

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

(defmacro segue-footer--widely (&rest body)
  "Do BODY with the whole buffer, then restore point and narrowing."
  (declare (indent 0) (debug t))
  `(save-excursion (save-restriction (widen) ,@body)))

(defun segue-footer-start ()
  "Return where the footer begins, or nil if there is none.
That is the last form feed if the line of Segue follows it, else the list that
ends the file, else the last form feed if any list follows it."
  (segue-footer--widely
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
  (let (mark variables (start (segue-footer-start)) (inhibit-read-only t)) ; it may be hidden and protected
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
            (replace-regexp-in-string "\\(local\\) \\(variables\\)" "\\1\\\\s\\2" (cdr entry) t))))

(defvar-local segue--remembered nil
  "The preset and the settings when the file was last read or written.")

(defvar-local segue--has-footer nil
  "Whether the file had a footer then.
If not, a text that looks like a footer was typed by the user.")

(defvar-local segue--is-unsaved nil
  "Whether the preset is not in the file yet, so that saving is not for nothing.")

(defun segue-remember-settings ()
  "Remember the settings: what differs later was changed by the user."
  (setq segue--has-footer (and (segue-footer-start) t)
        segue--is-unsaved nil
        segue--remembered (cons gptel--preset (segue-all-settings))))

(defun segue-footer-save ()
  "Save with gptel what differs from the preset, into the only footer of the file.
What was not changed in this Emacs stays unchanged, even if it is unknown here."
  (segue-footer--widely
    (condition-case problem
        (atomic-change-group
          (pcase-let ((`(,mark . ,old) (and segue--has-footer (segue-footer--take))))
            (segue-footer--put mark (segue-footer--merged old (segue-footer--written))))
          (segue-remember-settings))
      (error (segue--warn "the settings were not saved with the text: %s" (error-message-string problem))))))

(defun segue-footer--written ()
  "Return what gptel would save, as an alist of variables and their values.
It is only collected: gptel itself would write it into a text like a footer."
  (let (written)
    (cl-letf (((symbol-function 'add-file-local-variable)
               (lambda (variable value &rest _)
                 (setf (alist-get (segue-footer--canonical variable) written) value)))
              ((symbol-function 'delete-file-local-variable) #'ignore))
      (gptel--save-state))
    written))

(defun segue-footer--merged (old written)
  "Return what to write: OLD, which is in the file, with what is new in WRITTEN."
  (let ((is-same-preset (eq gptel--preset (car segue--remembered)))
        (is-other (lambda (entry) (not (assq (car entry) segue--variables)))))
    (append
     (and gptel--preset (list (cons 'gptel--preset (segue-printed gptel--preset))))
     (delq nil (mapcar (lambda (row)
                         (let* ((variable (car row))
                                (before (alist-get variable (cdr segue--remembered)))
                                (is-same (and is-same-preset (equal (segue-setting variable) before))))
                           (if is-same (assq variable old) (segue-footer--changed row written))))
                       segue-settings))
     (seq-remove (lambda (entry) (assq (car entry) written)) (seq-filter is-other old))
     (mapcar (lambda (entry) (cons (car entry) (segue-printed (cdr entry)))) (seq-filter is-other written))
     (list (cons 'gptel--bounds (segue-printed (alist-get 'gptel--bounds written)))))))

(defun segue-footer--changed (row written)
  "Return the line of the setting in ROW, or nil if it is that of the preset.
WRITTEN is what gptel saves, which decides if the preset cannot be applied."
  (let* ((variable (car row))
         (value (segue-plain (segue-setting variable)))
         (usual (assq variable (segue-preset-settings gptel--preset))))
    (when (and (funcall (nth 2 row) value)
               (if usual
                   (not (equal (segue--sorted value) (segue--sorted (cdr usual))))
                 (or (assq variable written) (null value))))
      (cons variable (segue-printed value)))))

(defun segue--sorted (value)
  "Return VALUE, sorted if it is a list: the order of tools means nothing."
  (if (consp value) (sort (copy-sequence value) #'string<) value))

;;;; Typing at the end

(defun segue-footer--lines ()
  "Return the lines of the footer, as pairs of start and end, without other text."
  (let ((start (and segue--has-footer (segue-footer-start))) (lines nil))
    (when start
      (segue-footer--widely
        (segue-footer--walk start (lambda (line)
                                    (when line
                                      (push (cons (point) (min (point-max) (1+ (line-end-position)))) lines))
                                    nil))))
    (nreverse lines)))

(defun segue-footer-leave ()
  "Move point out of the footer, together with what was typed below or inside it."
  (when-let ((start (and segue--has-footer (segue-footer-start))))
    (when (>= (point) start)
      (let ((typed (copy-marker (point))))
        (when (segue-footer--typed-p start)
          (segue-footer--widely
            (pcase-let ((`(,mark . ,variables) (segue-footer--take)))
              (segue-footer--put mark variables))))
        (goto-char (max (point-min) (min typed (1- (segue-footer-start)))))
        (set-marker typed nil)))))

(defun segue-footer--typed-p (start)
  "Return whether the user typed anything in or below the footer at START."
  (let ((is-typed nil))
    (segue-footer--widely
      (segue-footer--walk start (lambda (line)
                                  (unless (or line (looking-at-p "[ \t]*$")) (setq is-typed t))
                                  nil)))
    is-typed))

(defconst segue--typing-commands
  '(self-insert-command newline newline-and-indent electric-newline-and-maybe-indent open-line
    yank yank-pop clipboard-yank quoted-insert insert-char markdown-enter-key gptel-send gptel-menu)
  "Commands after which a text is expected to be part of the conversation.")

(defun segue--before-command ()
  "Leave the footer before something is typed there; for `pre-command-hook'."
  (when (and segue--is-unsaved (eq this-command 'save-buffer))
    (set-buffer-modified-p t))
  (when (and segue--has-footer (memq this-command segue--typing-commands) (not (use-region-p)))
    (condition-case problem
        (segue-footer-leave)
      (error (segue--warn "%s" (error-message-string problem))))))

(provide 'segue-footer)
;;; segue-footer.el ends here
