;;; gptel.el --- A small double of gptel, for tests without it  -*- lexical-binding: t; -*-

;;; Commentary:

;; The functions and variables of gptel that segue.el uses, each with the effects that
;; segue.el depends on, and nothing that sends anything.  tests/emacs runs the same
;; tests with it and with gptel itself, and compares what both do (segue-probe.el).

;;; Code:

(require 'cl-lib)
(require 'files-x)
(require 'seq)
(require 'subr-x)

;;;; Backends, tools and settings

(cl-defstruct gptel-backend name models)
(cl-defstruct gptel-tool name function description args)

(defvar gptel--known-backends nil)
(defvar gptel--known-tools nil)
(defvar gptel-directives '((default . "Be of help.")))
(defvar gptel-backend nil)
(defvar gptel-model nil)
(defvar gptel-tools nil)
(define-obsolete-variable-alias 'gptel--system-message 'gptel-system-prompt "now")
(defvar gptel-system-prompt "Be of help.")
(defvar gptel-temperature nil)
(defvar gptel-max-tokens nil)
(defvar gptel--num-messages-to-send nil)
(defvar gptel--preset nil)
(defvar-local gptel--bounds nil)
(defvar-local gptel--backend-name nil)
(defvar-local gptel--tool-names nil)
(defvar gptel-response-separator "\n\n")
(defvar gptel-save-state-hook nil)
(defvar gptel-pre-response-hook nil)
(defvar gptel-post-response-functions nil)
(put 'gptel-post-response-functions 'permanent-local t)

(defun gptel-make-openai (name &rest keys)
  "Make the backend NAME; of its KEYS only the models matter."
  (setf (alist-get name gptel--known-backends nil nil #'equal)
        (make-gptel-backend :name name :models (plist-get keys :models))))

(defun gptel-get-backend (name)
  "Return the backend NAME, or signal an error."
  (or (alist-get name gptel--known-backends nil nil #'equal) (user-error "There is no backend %s" name)))

(defun gptel-make-tool (&rest slots)
  "Make a tool with SLOTS."
  (setf (alist-get (plist-get slots :name) gptel--known-tools nil nil #'equal)
        (make-gptel-tool :name (plist-get slots :name) :function (plist-get slots :function)
                         :description (plist-get slots :description) :args (plist-get slots :args))))

(defun gptel-get-tool (name)
  "Return the tool NAME, or signal an error."
  (if (gptel-tool-p name) name
    (or (alist-get name gptel--known-tools nil nil #'equal) (error "There is no tool %s" name))))

(defun gptel--parse-directive (directive &optional _raw)
  "Return DIRECTIVE as a list that begins with the system message."
  (cond ((functionp directive) (gptel--parse-directive (funcall directive)))
        ((consp directive) directive)
        (t (list directive))))

;;;; Presets

(defvar gptel--known-presets nil)

(defun gptel-make-preset (name &rest keys)
  "Register the preset NAME with KEYS."
  (declare (indent 1))
  (setf (alist-get name gptel--known-presets nil nil #'equal) keys))

(defun gptel-get-preset (name)
  "Return the description of the preset NAME, or nil."
  (alist-get name gptel--known-presets nil nil #'equal))

(defun gptel--apply-preset (preset &optional setter)
  "Apply PRESET, a name or a description, with SETTER."
  (let ((set (or setter #'set)) (description preset))
    (when (symbolp preset)
      (funcall set 'gptel--preset preset)
      (setq description (or (gptel-get-preset preset) (user-error "There is no preset %s" preset))))
    (when (plist-get description :pre) (funcall (plist-get description :pre)))
    (dolist (parent (ensure-list (plist-get description :parents)))
      (gptel--apply-preset (or (gptel-get-preset parent) (user-error "There is no preset %s" parent)) set))
    (cl-loop for (key value) on description by #'cddr
             do (gptel-double--apply key value set))
    (when (plist-get description :post) (funcall (plist-get description :post)))))

(defun gptel-double--apply (key value set)
  "Apply VALUE of KEY in a preset with SET."
  (pcase key
    ((or :parents :description :pre :post))
    (:system (funcall set 'gptel-system-prompt
                      (if (and value (symbolp value) (not (functionp value)))
                          (or (alist-get value gptel-directives) (user-error "There is no directive %s" value))
                        value)))
    (:backend (funcall set 'gptel-backend (if (stringp value) (gptel-get-backend value) value)))
    (:tools (funcall set 'gptel-tools
                     (mapcar (lambda (tool)
                               (or (ignore-errors (gptel-get-tool tool)) (user-error "There is no tool %s" tool)))
                             value)))
    (_ (let* ((name (substring (symbol-name key) 1))
              (variable (seq-find #'boundp (delq nil (list (intern-soft (concat "gptel-" name))
                                                           (intern-soft (concat "gptel--" name)))))))
         (if variable (funcall set variable value)
           (display-warning '(gptel presets) (format "There is no setting %s" key)))))))

(defun gptel--preset-mismatch-value (description key value)
  "Return whether VALUE differs from that of KEY in DESCRIPTION."
  (or (null description)
      (let ((usual (plist-get description key)))
        (pcase key
          (:system (or (functionp usual) (and (stringp usual) (not (equal usual value)))))
          (:backend (not (equal (if (gptel-backend-p value) (gptel-backend-name value) value)
                                (if (gptel-backend-p usual) (gptel-backend-name usual) usual))))
          (:tools (and usual
                       (cl-set-exclusive-or
                        (mapcar (lambda (tool) (gptel-tool-name (gptel-get-tool tool))) usual) value :test #'equal)
                       t))
          (_ (not (equal usual value)))))))

;;;; Who wrote what

(defun gptel--get-buffer-bounds ()
  "Return who wrote what in this buffer."
  (save-restriction
    (widen)
    (let ((bounds nil) (end (point-max)))
      (while (> end (point-min))
        (let* ((start (previous-single-property-change end 'gptel nil (point-min)))
               (kind (get-char-property start 'gptel)))
          (when kind
            (push (append (list start end) (and (consp kind) (list (cdr kind))))
                  (alist-get (if (consp kind) (car kind) kind) bounds)))
          (setq end start)))
      bounds)))

(defun gptel--restore-props (bounds)
  "Mark the text according to BOUNDS."
  (with-silent-modifications
    (if (symbolp (caar bounds))
        (pcase-dolist (`(,kind . ,places) bounds)
          (dolist (place places)
            (add-text-properties (nth 0 place) (nth 1 place)
                                 (if (eq kind 'response) '(gptel response front-sticky (gptel))
                                   (list 'gptel (if (nthcdr 2 place) (cons kind (nth 2 place)) kind))))))
      (pcase-dolist (`(,start . ,end) bounds)
        (add-text-properties start end '(gptel response front-sticky (gptel)))))))

(defun gptel-double--inherit (start end _length)
  "Mark text that is inserted between START and END like the answer that it is in."
  (when (and (< start end (point-max)) (get-text-property end 'gptel))
    (add-text-properties start end `(gptel ,(get-text-property end 'gptel) front-sticky (gptel)))))

;;;; Saving and restoring

(defun gptel--restore-state ()
  "Restore what the variables of the file say: here, the preset wins."
  (when buffer-file-name
    (when gptel--bounds (gptel--restore-props gptel--bounds))
    (when gptel--preset
      (if (gptel-get-preset gptel--preset)
          (gptel--apply-preset gptel--preset (lambda (variable value) (set (make-local-variable variable) value)))
        (display-warning '(gptel presets) (format "There is no preset %s" gptel--preset))))
    (when-let ((backend (cdr (assoc gptel--backend-name gptel--known-backends))))
      (setq-local gptel-backend backend))
    (when-let ((tools (delq nil (mapcar (lambda (name) (ignore-errors (gptel-get-tool name))) gptel--tool-names))))
      (setq-local gptel-tools tools))))

(defun gptel--save-state ()
  "Write what differs from the preset into the list at the end of the file."
  (run-hooks 'gptel-save-state-hook)
  (let* ((print-escape-newlines t)
         (preset (and gptel--preset (gptel-get-preset gptel--preset)))
         (differs (lambda (key value) (gptel--preset-mismatch-value preset key value)))
         (put (lambda (is-saved variable value)
                (if is-saved (add-file-local-variable variable value) (delete-file-local-variable variable))))
         (system (car-safe (gptel--parse-directive gptel-system-prompt)))
         (tools (mapcar #'gptel-tool-name gptel-tools)))
    (save-excursion
      (funcall put preset 'gptel--preset gptel--preset)
      (when (funcall differs :model gptel-model) (add-file-local-variable 'gptel-model gptel-model))
      (when (funcall differs :backend gptel-backend)
        (add-file-local-variable 'gptel--backend-name (gptel-backend-name gptel-backend)))
      (delete-file-local-variable 'gptel--system-message)
      (funcall put (funcall differs :system system) 'gptel-system-prompt system)
      (funcall put (funcall differs :tools tools) 'gptel--tool-names tools)
      (funcall put (and (funcall differs :temperature gptel-temperature)
                        (not (equal gptel-temperature (default-value 'gptel-temperature))))
               'gptel-temperature gptel-temperature)
      (funcall put (and gptel-max-tokens (funcall differs :max-tokens gptel-max-tokens))
               'gptel-max-tokens gptel-max-tokens)
      (funcall put (and (natnump gptel--num-messages-to-send)
                        (funcall differs :num-messages-to-send gptel--num-messages-to-send))
               'gptel--num-messages-to-send gptel--num-messages-to-send)
      (add-file-local-variable 'gptel--bounds (gptel--get-buffer-bounds)))))

(define-minor-mode gptel-mode
  "Minor mode for conversations."
  :lighter " GPT"
  :keymap (let ((map (make-sparse-keymap))) (define-key map (kbd "C-c RET") #'gptel-send) map)
  (cond
   ((not gptel-mode)
    (remove-hook 'before-save-hook #'gptel--save-state t)
    (remove-hook 'after-change-functions #'gptel-double--inherit t))
   ((derived-mode-p 'text-mode 'org-mode 'markdown-mode)
    (add-hook 'before-save-hook #'gptel--save-state nil t)
    (add-hook 'after-change-functions #'gptel-double--inherit nil t)
    (gptel--restore-state))
   (t (setq gptel-mode nil) (user-error "Not supported in %s" major-mode))))

(cl-pushnew '(gptel . t) (default-value 'text-property-default-nonsticky) :test #'equal)

;;;; Sending

(defun gptel--create-prompt-buffer (&optional end)
  "Return a buffer with what would be sent: the region, or the text up to END."
  (let ((text (if (use-region-p) (buffer-substring (region-beginning) (region-end))
                (buffer-substring (point-min) (or end (point))))))
    (with-current-buffer (generate-new-buffer " *gptel-prompt*")
      (insert text)
      (current-buffer))))

(cl-defun gptel-request (&optional prompt &key position dry-run &allow-other-keys)
  "Send PROMPT, or the text before point, which sends nothing here.
POSITION is where the answer goes, and DRY-RUN means not to wait for one."
  (let ((buffer (if prompt (generate-new-buffer " *gptel-prompt*") (gptel--create-prompt-buffer (point)))))
    (kill-buffer buffer)
    (unless dry-run (list :buffer (current-buffer) :position (or position (point-marker))))))

(defun gptel-send (&optional _)
  "Send the text before point."
  (interactive "P")
  (gptel-request nil))

(defun gptel-curl--stream-insert-response (text info)
  "Insert TEXT, a piece of an answer, where INFO says."
  (with-current-buffer (plist-get info :buffer)
    (save-excursion
      (let ((end (plist-get info :tracking-marker)) (start (plist-get info :position)))
        (unless end
          (goto-char start)
          (unless (bobp)
            (insert gptel-response-separator)
            (move-marker start (point)))
          (setq end (copy-marker (point) t))
          (plist-put info :tracking-marker end))
        (goto-char end)
        (insert (propertize text 'gptel 'response 'front-sticky '(gptel)))))))

(provide 'gptel)
(provide 'gptel-openai)
;;; gptel.el ends here
