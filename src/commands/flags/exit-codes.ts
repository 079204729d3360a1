/** The exit codes of the program. `unseen`: a command whose exit code is its verdict could not find it out. */
export const exitCodes = { done: 0, failed: 1, usage: 2, unseen: 2, readerGone: 141 } as const;

interface ExitCodeRow {
  readonly code: number;
  /** Absent: of every command. */
  readonly commands?: readonly string[];
  readonly meaning: string;
}

/** The commands whose exit code is their verdict. */
const verdicts = ['check', 'plan', 'status --exit-code'] as const;

/** Every exit code, for `--help` and the reference. The first that fits is the right one. */
export const exitCodeRows: readonly ExitCodeRow[] = [
  { code: exitCodes.done, commands: ['check'], meaning: 'The ProviderConfig has no problem.' },
  { code: exitCodes.failed, commands: ['check'], meaning: 'The ProviderConfig has problems, which are printed.' },
  { code: exitCodes.done, commands: ['plan'], meaning: 'Every machine of the cluster can be created.' },
  { code: exitCodes.failed, commands: ['plan'], meaning: 'A machine would wait, or something is in its way.' },
  { code: exitCodes.done, commands: ['status --exit-code'], meaning: 'Every Cluster is ready.' },
  { code: exitCodes.failed, commands: ['status --exit-code'], meaning: 'A Cluster is not ready.' },
  {
    code: exitCodes.unseen,
    commands: verdicts,
    meaning: 'The command failed: see the log. Or the command line is invalid.',
  },
  { code: exitCodes.done, meaning: 'Success, also of help and version, and of run after SIGTERM or SIGINT.' },
  {
    code: exitCodes.failed,
    meaning: 'Failure: see the log, which is on standard error. Or a second SIGTERM or SIGINT.',
  },
  { code: exitCodes.usage, meaning: 'The command line is invalid; the message says what to do.' },
  { code: exitCodes.readerGone, meaning: 'The reader of standard output has closed it, as `| head` does.' },
];
