/** What a script consists of. Text is a string of bytes (latin1): what is not ASCII passes through unharmed. */
export type Dialect = 'dash' | 'bash';

export type Part =
  | { readonly kind: 'text'; readonly text: string; readonly quoted: boolean }
  | Parameter
  | { readonly kind: 'command'; readonly body: List; readonly quoted: boolean }
  | { readonly kind: 'arithmetic'; readonly expression: Word; readonly quoted: boolean }
  | { readonly kind: 'process'; readonly direction: '<' | '>'; readonly body: List };

/** `$name` and everything that braces can add to it. */
export interface Parameter {
  readonly kind: 'parameter';
  readonly name: string;
  /** Of an array; `@` and `*` are all of it. */
  readonly index?: Word;
  readonly length: boolean;
  readonly indirect: boolean;
  /** E.g. `:-`, `##`, `//`, `:` for a part of it, `@Q`. */
  readonly operator: string;
  readonly word?: Word;
  /** What replaces, or how many. */
  readonly second?: Word;
  readonly quoted: boolean;
  /** The shell does not know this form: it says so when it gets there. */
  readonly bad?: string;
}

export type Word = readonly Part[];

export interface Assignment {
  readonly name: string;
  readonly index?: Word;
  readonly append: boolean;
  readonly value: Word | { readonly list: readonly Word[] };
}

export interface Redirection {
  readonly number: number;
  readonly operator: '<' | '>' | '>>' | '<>' | '>|' | '<&' | '>&' | '<<' | '<<<' | '&>' | '&>>';
  readonly target: Word;
}

export type Command =
  | {
      readonly kind: 'simple';
      readonly assignments: readonly Assignment[];
      readonly words: readonly Word[];
      readonly redirections: readonly Redirection[];
      readonly line: number;
    }
  | { readonly kind: 'group'; readonly body: List; readonly redirections: readonly Redirection[] }
  | { readonly kind: 'subshell'; readonly body: List; readonly redirections: readonly Redirection[] }
  | {
      readonly kind: 'if';
      readonly branches: readonly { readonly condition: List; readonly body: List }[];
      readonly otherwise?: List;
      readonly redirections: readonly Redirection[];
    }
  | {
      readonly kind: 'loop';
      readonly until: boolean;
      readonly condition: List;
      readonly body: List;
      readonly redirections: readonly Redirection[];
    }
  | {
      readonly kind: 'for';
      readonly name: string;
      /** Undefined: over the positional parameters. */
      readonly words: readonly Word[] | undefined;
      readonly body: List;
      readonly redirections: readonly Redirection[];
    }
  | {
      readonly kind: 'case';
      readonly subject: Word;
      readonly branches: readonly { readonly patterns: readonly Word[]; readonly body: List }[];
      readonly redirections: readonly Redirection[];
    }
  | { readonly kind: 'function'; readonly name: string; readonly body: Command }
  | { readonly kind: 'test'; readonly expression: TestExpression; readonly redirections: readonly Redirection[] }
  | { readonly kind: 'arithmetic'; readonly expression: Word; readonly redirections: readonly Redirection[] };

/** Between `[[` and `]]`. */
export type TestExpression =
  | { readonly kind: 'not'; readonly operand: TestExpression }
  | { readonly kind: 'and' | 'or'; readonly left: TestExpression; readonly right: TestExpression }
  | { readonly kind: 'unary'; readonly operator: string; readonly operand: Word }
  | { readonly kind: 'binary'; readonly operator: string; readonly left: Word; readonly right: Word };

export interface Pipeline {
  readonly commands: readonly Command[];
  readonly negated: boolean;
}

export interface AndOr {
  readonly first: Pipeline;
  readonly rest: readonly { readonly operator: '&&' | '||'; readonly pipeline: Pipeline }[];
  readonly background: boolean;
}

export type List = readonly AndOr[];
