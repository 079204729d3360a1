/** What a script consists of. Text is a string of bytes (latin1): what is not ASCII passes through unharmed. */
export type Dialect = 'dash' | 'bash';

export type Part =
  | { readonly kind: 'text'; readonly text: string; readonly quoted: boolean }
  | { readonly kind: 'parameter'; readonly name: string; readonly quoted: boolean }
  | { readonly kind: 'command'; readonly body: List; readonly quoted: boolean }
  | { readonly kind: 'arithmetic'; readonly expression: Word; readonly quoted: boolean };

export type Word = readonly Part[];

export interface Assignment {
  readonly name: string;
  readonly value: Word;
}

export interface Redirection {
  readonly number: number;
  readonly operator: '<' | '>' | '>>' | '<&' | '>&';
  readonly target: Word;
}

export interface SimpleCommand {
  readonly kind: 'simple';
  readonly assignments: readonly Assignment[];
  readonly words: readonly Word[];
  readonly redirections: readonly Redirection[];
  readonly line: number;
}

/** A command that is made of commands. */
export type CompoundCommand = { readonly redirections: readonly Redirection[] } & (
  | { readonly kind: 'group' | 'subshell'; readonly body: List }
  | {
      readonly kind: 'if';
      readonly branches: readonly { readonly condition: List; readonly body: List }[];
      readonly otherwise?: List;
    }
  | { readonly kind: 'loop'; readonly until: boolean; readonly condition: List; readonly body: List }
  | {
      readonly kind: 'for';
      readonly name: string;
      /** Undefined: over the positional parameters. */
      readonly words: readonly Word[] | undefined;
      readonly body: List;
    }
  | {
      readonly kind: 'case';
      readonly subject: Word;
      readonly branches: readonly { readonly patterns: readonly Word[]; readonly body: List }[];
    }
);

export type Command =
  | SimpleCommand
  | CompoundCommand
  | { readonly kind: 'function'; readonly name: string; readonly body: Command };

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
