import type { Argument, Command, Option } from 'commander';
import { createProgram, programName } from '../flags/program.ts';

/** What follows a flag or takes the place of an argument. */
export type CompletedValue =
  | { readonly kind: 'choices'; readonly choices: readonly string[] }
  | { readonly kind: 'path' }
  /** Only the user knows it. */
  | { readonly kind: 'any' };

export interface CompletedFlag {
  /** `--output` */
  readonly long: string;
  /** `-o` */
  readonly short?: string;
  readonly description: string;
  /** Absent: none, or an optional one after `=`. */
  readonly value?: CompletedValue;
  readonly isRepeatable: boolean;
}

export interface CompletedCommand {
  readonly name: string;
  readonly description: string;
  readonly flags: readonly CompletedFlag[];
  readonly argument?: CompletedValue;
}

/** What the scripts of all shells follow from. */
export interface CompletionModel {
  readonly program: string;
  readonly commands: readonly CompletedCommand[];
}

/** The visible commands with their flags, as the parser has them. */
export function buildCompletionModel(): CompletionModel {
  const commands = createProgram(() => {}).commands.map(toCompletedCommand);
  const names = commands.map(({ name }) => name);
  const help: CompletedCommand = {
    name: 'help',
    description: 'Show the help of a command.',
    flags: [],
    argument: { kind: 'choices', choices: names },
  };
  return { program: programName, commands: [...commands, help] };
}

function toCompletedCommand(command: Command): CompletedCommand {
  const [argument] = command.registeredArguments;
  const help: CompletedFlag = { long: '--help', short: '-h', description: 'Show this help.', isRepeatable: false };
  return {
    name: command.name(),
    description: firstSentence(command.description()),
    flags: [...command.options.map(toCompletedFlag), help],
    ...(argument && { argument: toValue(argument, argument.name()) }),
  };
}

/** Options that collect values say so in their description, which is what users read. */
const repeatablePattern = /\brepeat/i;

function toCompletedFlag(option: Option): CompletedFlag {
  const { long, short, description, required, flags } = option;
  return {
    long: long ?? '',
    ...(short && { short }),
    description: firstSentence(description),
    isRepeatable: repeatablePattern.test(description),
    ...(required && { value: toValue(option, /<([^<>]+)>/.exec(flags)?.[1] ?? '') }),
  };
}

/** `placeholder`: what stands for the value in the help. */
function toValue({ argChoices }: Pick<Option | Argument, 'argChoices'>, placeholder: string): CompletedValue {
  if (argChoices && argChoices.length > 0) return { kind: 'choices', choices: argChoices };
  return ['FILE', 'FOLDER', 'PATH'].includes(placeholder) ? { kind: 'path' } : { kind: 'any' };
}

const firstSentence = (text: string): string => /^.*?[.:](?=\s|$)/.exec(text)?.[0].slice(0, -1) ?? text;
