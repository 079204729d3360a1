/** `break` and `continue`. */
export class LoopJump extends Error {
  readonly kind: 'break' | 'continue';
  levels: number;

  constructor(kind: 'break' | 'continue', levels: number) {
    super(kind);
    this.kind = kind;
    this.levels = levels;
  }
}

/** `return` out of a function. */
export class Return extends Error {
  readonly status: number;

  constructor(status: number) {
    super('return');
    this.status = status;
  }
}

/** The end of the shell. */
export class Exit extends Error {
  readonly status: number;

  constructor(status: number) {
    super('exit');
    this.status = status;
  }
}
