;;; segue-files.el --- The files of a session: paths and metadata  -*- lexical-binding: t; -*-

;; Author: The Segue authors
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; All file names are defined here.  Metadata is read from disk each time, and what
;; is missing or cannot be read is nil.

;;; Code:

(require 'json)
(require 'subr-x)

;;;; Names and paths

(defconst jf/gptel--branches-directory-name "branches")
(defconst jf/gptel--current-link-name "current")
(defconst jf/gptel--context-file-name "session.md")
(defconst jf/gptel--metadata-file-name "metadata.yml")
(defconst jf/gptel--scope-file-name "scope.yml")
(defconst jf/gptel--branch-metadata-file-name "branch-metadata.yml")
(defconst jf/gptel--tools-file-name "tools.org")
(defconst jf/gptel--times-file-name ".times")
(defconst jf/gptel--legacy-metadata-file-name "scope-plan.yml")

(defconst segue--suffix (concat "/" jf/gptel--context-file-name)
  "The end of the name of every session file.")

(defconst segue--pattern
  (format "\\`\\(.+\\)/%s/\\([^/]+\\)%s\\'"
          (regexp-quote jf/gptel--branches-directory-name) (regexp-quote segue--suffix))
  "The path of a session file: the folder of the session, then the branch.")

(defconst segue--name
  (format "/\\(?:%s/[^/]+\\|%s\\)%s\\'"
          (regexp-quote jf/gptel--branches-directory-name)
          (regexp-quote jf/gptel--current-link-name) (regexp-quote segue--suffix))
  "The names by which a session file can be visited.")

(defun jf/gptel--branches-dir-path (session-dir)
  "Return the folder with the branches of SESSION-DIR."
  (expand-file-name jf/gptel--branches-directory-name session-dir))

(defun jf/gptel--branch-dir-path (session-dir branch-name)
  "Return the folder of the branch BRANCH-NAME of SESSION-DIR."
  (expand-file-name branch-name (jf/gptel--branches-dir-path session-dir)))

(defun jf/gptel--context-file-path (branch-dir)
  "Return the file with the conversation in BRANCH-DIR."
  (expand-file-name jf/gptel--context-file-name branch-dir))

(defun jf/gptel--metadata-file-path (branch-dir)
  "Return the metadata file in BRANCH-DIR."
  (expand-file-name jf/gptel--metadata-file-name branch-dir))

(defun jf/gptel--scope-file-path (branch-dir)
  "Return the file in BRANCH-DIR with what tools may access."
  (expand-file-name jf/gptel--scope-file-name branch-dir))

(defun jf/gptel--branch-metadata-file-path (branch-dir)
  "Return the file in BRANCH-DIR with the lineage of the branch."
  (expand-file-name jf/gptel--branch-metadata-file-name branch-dir))

;;;; Metadata

(defun jf/gptel--read-session-metadata (branch-dir)
  "Return the metadata of the session in BRANCH-DIR, or nil.
The value is a plist such as (:session-id \"…\" :preset \"executor\")."
  (let* ((file (jf/gptel--metadata-file-path branch-dir))
         (legacy (expand-file-name jf/gptel--legacy-metadata-file-name branch-dir))
         (is-legacy (and (not (file-exists-p file)) (file-exists-p legacy)))
         (fields (segue--read-fields (if is-legacy legacy file))))
    (when is-legacy
      (segue--warn "using %s, since there is no %s; segue gptel migrate creates it"
                   legacy jf/gptel--metadata-file-name))
    (if (and (plist-get fields :agent-type) (not (plist-get fields :preset)))
        (plist-put fields :preset (plist-get fields :agent-type))
      fields)))

(defun jf/gptel--read-branch-metadata (branch-dir)
  "Return the lineage of the branch in BRANCH-DIR as a plist, or nil."
  (segue--read-fields (jf/gptel--branch-metadata-file-path branch-dir)))

(defun segue--read-fields (file)
  "Return the fields of the YAML FILE as a plist, or nil if there are none.
Lists and nested values are left out: they are not needed here."
  (when (file-readable-p file)
    (with-temp-buffer
      (let ((coding-system-for-read 'utf-8)) (insert-file-contents file))
      (let (fields)
        (catch 'bad
          (while (not (eobp))
            (cond
             ((looking-at "\\([[:alpha:]_][[:alnum:]_-]*\\):\\(?:[ \t]+\\(.*\\)\\)?$")
              (let ((key (segue--keyword (match-string 1)))
                    (value (string-trim (or (match-string 2) ""))))
                (setq fields (plist-put fields key (segue--scalar value)))))
             ((not (looking-at "[ \t]*$\\|[ \t]*#\\|[ \t]+[^ \t]\\|- \\|---\\|\\.\\.\\."))
              (throw 'bad nil)))
            (forward-line 1))
          fields)))))

(defun segue--scalar (text)
  "Return the value of TEXT in YAML, nil if it is empty or nested."
  (cond
   ((string-prefix-p "\"" text)
    (condition-case nil (json-read-from-string text) (json-error (throw 'bad nil))))
   ((string-match "\\`'\\(\\(?:[^']\\|''\\)*\\)'" text)
    (replace-regexp-in-string "''" "'" (match-string 1 text) t t))
   ((string-match-p "\\`\\(?:[]['{}|>&*!%@`,]\\|\\(?:null\\|~\\|false\\)?\\'\\)" text) nil)
   ((string-match-p "\\`-?[0-9]+\\(?:\\.[0-9]+\\)?\\'" text) (string-to-number text))
   (t (replace-regexp-in-string "[ \t]+#.*" "" text))))

(defun segue--keyword (name)
  "Return NAME as a keyword: :session-id for session_id."
  (intern (concat ":" (string-remove-prefix ":" (string-replace "_" "-" name)))))

(defun segue--warn (format &rest arguments)
  "Show a warning, without stopping anything: FORMAT with ARGUMENTS."
  (display-warning 'segue (substring-no-properties (apply #'format-message format arguments))))

(provide 'segue-files)
;;; segue-files.el ends here
