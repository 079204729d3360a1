import type { CompletedCommand, CompletedFlag, CompletedValue, CompletionModel } from './completion-model.ts';

/** A script for fish 3 or newer. */
export function renderFishScript({ program, commands }: CompletionModel): string {
  const begin = `complete -c ${program}`;
  return [
    `# Completion of ${program} for fish: ${program} completion fish | source`,
    `${begin} -f`,
    ...commands.map(({ name, description }) => `${begin} -n __fish_use_subcommand -a ${name} -d ${quote(description)}`),
    ...commands.flatMap((command) => renderCommand(command).map((line) => `${begin} ${line}`)),
  ].join('\n');
}

function renderCommand({ name, flags, argument }: CompletedCommand): string[] {
  const condition = `-n '__fish_seen_subcommand_from ${name}'`;
  const choices = argument?.kind === 'choices' ? [`${condition} -a ${quote(argument.choices.join(' '))}`] : [];
  return [...choices, ...flags.map((flag) => `${condition} ${renderFlag(flag)}`)];
}

function renderFlag({ long, short, description, value }: CompletedFlag): string {
  const names = [`-l ${long.slice(2)}`, ...(short ? [`-s ${short.slice(1)}`] : [])];
  return [...names, ...(value ? [renderValue(value)] : []), `-d ${quote(description)}`].join(' ');
}

function renderValue(value: CompletedValue): string {
  if (value.kind === 'path') return '-r -F';
  return value.kind === 'choices' ? `-x -a ${quote(value.choices.join(' '))}` : '-x';
}

const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
