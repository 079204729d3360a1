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
  ENXIO: 'No such device or address',
  ENODEV: 'No such device',
  ELOOP: 'Too many levels of symbolic links',
  EIO: 'Input/output error',
  ENOTBLK: 'Block device required',
  ESPIPE: 'Illegal seek',
  ENOTTY: 'Inappropriate ioctl for device',
  EXDEV: 'Invalid cross-device link',
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

export const signals = { HUP: 1, INT: 2, QUIT: 3, KILL: 9, USR1: 10, PIPE: 13, ALRM: 14, TERM: 15 } as const;
