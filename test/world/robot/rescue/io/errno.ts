const errorMessages = {
  ENOENT: 'No such file or directory',
  EACCES: 'Permission denied',
  EPERM: 'Operation not permitted',
  EEXIST: 'File exists',
  ENOTDIR: 'Not a directory',
  EISDIR: 'Is a directory',
  EINVAL: 'Invalid argument',
  ENOSPC: 'No space left on device',
  EROFS: 'Read-only file system',
  EBUSY: 'Device or resource busy',
  EPIPE: 'Broken pipe',
  EBADF: 'Bad file descriptor',
  ENOTEMPTY: 'Directory not empty',
  ELOOP: 'Too many levels of symbolic links',
  ENOTBLK: 'Block device required',
  ENOTTY: 'Inappropriate ioctl for device',
} as const;

export type ErrnoCode = keyof typeof errorMessages;

/** An error of the kernel. The message is the one of `strerror`. */
export class Errno extends Error {
  readonly code: ErrnoCode;

  constructor(code: ErrnoCode) {
    super(errorMessages[code]);
    this.code = code;
  }
}

/** A process ends by a signal. */
export class Killed extends Error {
  readonly signal: number;

  constructor(signal: number) {
    super(`killed by signal ${signal}`);
    this.signal = signal;
  }
}

export const signals = { PIPE: 13, TERM: 15 } as const;
