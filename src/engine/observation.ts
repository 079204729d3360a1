/** What a platform sees of a machine right now. */
export interface Observation {
  readonly exists: boolean;
  /** Undefined where the platform cannot tell. */
  readonly runs?: boolean;
  /** What differs from what was made, what matters most first. */
  readonly drift: readonly Drift[];
}

/** One thing that is not as it was made. */
export interface Drift {
  /** UpperCamelCase, stable; the guide of the platform says what to do about each. */
  readonly reason: string;
  /** What is, and what becomes of it or what to do, in sentences for people. */
  readonly message: string;
  /** The machine serves as before: it is told, and stands in nobody's way. */
  readonly minor?: true;
  /** How it can be put right, if it can. */
  readonly mend?: {
    /** `by-itself`: nothing can be lost by it. `when-agreed`: a person has to say so first. */
    readonly when: 'by-itself' | 'when-agreed';
    /** Completes a sentence, e.g. `it is started again`. */
    readonly how: string;
    /** It was tried a while ago in vain, as the message tells: not again for now. */
    readonly later?: true;
  };
}
