;;; segue-tools.el --- The scope is asked before a tool of gptel runs, and calls are logged  -*- lexical-binding: t; -*-

;; Author: The Segue authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; gptel runs a tool in the buffer of a session only if the scope of the session
;; allows it, as `segue scope check' decides.  A tool that is not in
;; `segue-tool-actions' runs only after the user said yes.  What the scope allows is
;; left to the rules of gptel.  After any error the answer is no.
;;
;; Every call is logged in tools.org with its result, also one that was not allowed.

;;; Code:

(require 'json)
(require 'seq)
(require 'subr-x)
(require 'segue)

(defvar gptel-confirm-tool-calls)

(defcustom segue-tool-actions
  '(("read_file" read "path") ("read_text_file" read "path") ("Read" read "file_path")
    ("list_dir" read "path") ("list_directory" read "path")
    ("write_file" write "path") ("edit_file" write "path") ("create_file" write "path" "filename")
    ("Write" write "path" "filename") ("Edit" write "path") ("Insert" write "path")
    ("create_directory" write "path") ("make_directory" write "parent" "name") ("Mkdir" write "parent" "name")
    ("run_shell" shell "command") ("run_command" shell "command") ("execute_command" shell "command")
    ("Bash" shell "command") ("bash" shell "command"))
  "What the scope is asked before a tool of gptel runs.
Each element has the name of a tool, an action, and the names of the arguments
with its target; several are the parts of one path.  For a tool that is not
here, and for a call without these arguments, the user is asked every time."
  :type '(alist :key-type string
                :value-type (cons (choice (const read) (const write) (const shell)) (repeat string)))
  :group 'segue
  :risky t)

(defvar-local segue-tools--denied nil "The action and the target that were denied last.")
(defvar-local segue-tools--unlogged nil "Calls that could not be logged yet, the last one first.")

;;;###autoload
(defun segue-tools-setup (_answer)
  "Ask the scope before tools of gptel run in this buffer, and log their use."
  (when (and (featurep 'gptel) (not (custom-variable-p 'gptel-pre-tool-call-functions)))
    (setq-local gptel-confirm-tool-calls t)) ; an older gptel, which only the user can stop
  (add-hook 'gptel-pre-tool-call-functions #'segue-tools-check 90 t) ; it sees what other functions made of the call
  (add-hook 'gptel-post-tool-call-functions #'segue-tools-log 90 t)
  (add-hook 'after-save-hook #'segue-tools--log-all nil t))

;;;; Before a call

(defun segue-tools-check (call)
  "Decide about CALL, which gptel is about to make: a plist with :name and :args.
Return nil to leave it to gptel, or a plist that blocks it or asks the user."
  (condition-case problem
      (let* ((name (plist-get call :name))
             (rule (assoc name segue-tool-actions))
             (target (and rule (segue-tools--target rule (plist-get call :args)))))
        (cond
         ((not target)
          (message "Segue: the scope has no rule for %s" (segue-shown name))
          '(:confirm t))
         ((not (segue-tools--is-current))
          (list :block "this branch is not the current one of its session, so its scope does not apply"))
         (t (segue-tools--judge (nth 1 rule) target))))
    (error
     (message "%s" (error-message-string problem))
     (list :block (format "the scope could not be asked: %s" (error-message-string problem))))))

(defun segue-tools--judge (action target)
  "Return the answer of the scope to ACTION on TARGET, as `segue-tools-check' does."
  (let ((verdict (segue-tools--ask action target)))
    (unless (eq (plist-get verdict :allowed) t)
      (let ((reason (segue-shown (or (plist-get verdict :reason) "the scope gave no answer"))))
        (setq segue-tools--denied (list action target))
        (message "Segue: %s is out of scope: %s; %s" (segue-shown target) reason
                 (if (plist-get verdict :trusted) "`segue-allow' changes that"
                   (format "its scope.yml was not written by Segue and is ignored until you run segue trust %s --store %s"
                           (file-name-nondirectory jf/gptel--session-dir)
                           (segue--store (file-name-directory jf/gptel--session-dir)))))
        (list :block (format "out of scope: %s" reason))))))

(defun segue-tools--ask (action target)
  "Return the verdict of the command about ACTION on TARGET as a plist."
  (let ((segue--accepted-codes '(0 1)) (default-directory jf/gptel--branch-dir))
    (apply #'segue--call "scope" "check" (format "--%s=%s" action target) (segue-tools--session))))

(defun segue-tools--session ()
  "Return the arguments that name the session of this buffer."
  (list "--store" (segue--store (file-name-directory jf/gptel--session-dir))
        "--" (file-name-nondirectory jf/gptel--session-dir)))

(defun segue-tools--is-current ()
  "Return whether the branch of this buffer is the one with the scope."
  (file-equal-p jf/gptel--branch-dir (expand-file-name jf/gptel--current-link-name jf/gptel--session-dir)))

(defun segue-tools--target (rule arguments)
  "Return the target of a call with ARGUMENTS according to RULE, or nil.
A path on another machine is unclear: no scope speaks of it."
  (let ((parts (mapcar (lambda (name) (plist-get arguments (intern (concat ":" name)))) (nthcdr 2 rule))))
    (when (and parts (seq-every-p #'stringp parts) (not (seq-some #'string-blank-p parts)))
      (if (eq (nth 1 rule) 'shell)
          (and (null (cdr parts)) (car parts))
        (unless (seq-some (lambda (part) (string-match-p "\\`/[^/|:]*:" part)) parts)
          (let ((path (seq-reduce (lambda (folder part) (expand-file-name part folder)) parts jf/gptel--branch-dir)))
            (unless (string-match-p "\\`/[^/|:]*:" path) path)))))))

;;;###autoload
(defun segue-allow (action pattern &optional once)
  "Allow the tools of this session ACTION on everything that matches PATTERN.
With ONCE, or a prefix argument, allow it one time.  The default is what was
denied last."
  (interactive
   (progn
     (segue--check)
     (let ((action (completing-read (format-prompt "Allow to" (or (car segue-tools--denied) 'read)) '(read write shell)
                                    nil t nil nil (format "%s" (or (car segue-tools--denied) 'read)))))
       (list (intern action) (read-string "Pattern: " (nth 1 segue-tools--denied)) current-prefix-arg))))
  (segue--check)
  (unless (memq action '(read write shell)) (user-error "An action is read, write or shell"))
  (when (string-blank-p pattern) (user-error "A pattern cannot be empty"))
  (let ((default-directory jf/gptel--branch-dir))
    (apply #'segue--call "scope" "allow" (format "--%s=%s" action pattern)
           (append (and once '("--once")) (segue-tools--session))))
  (setq jf/gptel--scope (jf/gptel--read-scope jf/gptel--branch-dir))
  (message "The tools of this session may %s %s%s" action (segue-shown pattern) (if once " once" "")))

;;;; After a call

(defun segue-tools-log (call)
  "Log CALL, which gptel has made: a plist with :name, :args and :result."
  (push (list :name (plist-get call :name) :arguments (plist-get call :args) :result (plist-get call :result))
        segue-tools--unlogged)
  (segue-tools--log-all)
  nil)

(defun segue-tools--log-all ()
  "Log every call that is not logged yet.
What fails is tried again with the next one."
  (condition-case problem
      (while segue-tools--unlogged
        (segue-tools--log-one (car (last segue-tools--unlogged)))
        (setq segue-tools--unlogged (butlast segue-tools--unlogged)))
    (error (segue--warn "a tool call is not in the log yet: %s" (error-message-string problem)))))

(defun segue-tools--log-one (call)
  "Log CALL now, in tools.org of this branch."
  (let ((segue--input (make-temp-file "segue-")))
    (unwind-protect
        (progn
          (let ((coding-system-for-write 'utf-8-unix))
            (write-region (segue-tools--json call) nil segue--input nil 'quiet))
          (segue--call "gptel" "log" (jf/gptel--context-file-path jf/gptel--branch-dir)))
      (delete-file segue--input))))

(defun segue-tools--json (call)
  "Return CALL as JSON; arguments that JSON cannot express are printed."
  (let ((name (segue-tools--text (plist-get call :name)))
        (result (segue-tools--text (plist-get call :result)))
        (arguments (plist-get call :arguments)))
    (segue-tools--text
     (condition-case nil
         (json-encode (list :name name :arguments (or arguments (make-hash-table)) :result result))
       (error (json-encode (list :name name :arguments (segue-tools--text arguments) :result result)))))))

(defun segue-tools--text (value)
  "Return VALUE as a text that can be written as UTF-8: bytes are replaced."
  (replace-regexp-in-string (format "[^%c-%c%c-%c]" 0 #xd7ff #xe000 #x10ffff) "�"
                            (if (stringp value) value (format "%S" value)) t t))

;;;###autoload
(defun segue-tool-log ()
  "Visit the log of every tool call in this branch."
  (interactive)
  (segue--check)
  (let ((file (expand-file-name jf/gptel--tools-file-name jf/gptel--branch-dir)))
    (unless (file-exists-p file) (user-error "No tool was called in this branch"))
    (let ((enable-local-variables nil)) ; it contains what tools found
      (find-file-read-only-other-window file))))

(provide 'segue-tools)
;;; segue-tools.el ends here
