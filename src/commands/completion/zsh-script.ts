import type { CompletedCommand, CompletedFlag, CompletedValue, CompletionModel } from './completion-model.ts';

/** A script for zsh: a file `_PROGRAM` of `fpath`, or sourced after `compinit`. */
export function renderZshScript({ program, commands }: CompletionModel): string {
  const name = `_${program.replaceAll('-', '_')}`;
  return `#compdef ${program}
# Completion of ${program} for zsh: source <(${program} completion zsh)
${name}() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C '1: :->command' '*:: :->rest'
  case $state in
    command)
      local -a commands
      commands=(
${commands.map((command) => `        ${quote(`${command.name}:${command.description}`)}`).join('\n')}
      )
      _describe -t commands command commands
      ;;
    rest)
      case $words[1] in
${commands.map(renderCommand).join('\n')}
      esac
      ;;
  esac
}
if [[ $funcstack[1] == ${name} ]]; then
  ${name} "$@"
else
  compdef ${name} ${program}
fi`;
}

function renderCommand({ name, flags, argument }: CompletedCommand): string {
  const lines = [...flags.map(renderFlag), ...(argument ? [quote(`1:argument${renderValue(argument)}`)] : [])];
  return [
    `        ${name})`,
    '          _arguments \\',
    `${lines.map((line) => `            ${line}`).join(' \\\n')}`,
    '          ;;',
  ].join('\n');
}

function renderFlag({ long, short, description, value, isRepeatable }: CompletedFlag): string {
  const about = `[${description.replaceAll(/[[\]\\]/g, '\\$&')}]${value ? `:value${renderValue(value)}` : ''}`;
  const spelled = value ? `${long}=` : long;
  if (!short) return quote(`${isRepeatable ? '*' : ''}${spelled}${about}`);
  return `${quote(isRepeatable ? '*' : `(${short} ${long})`)}{${short},${spelled}}${quote(about)}`;
}

function renderValue(value: CompletedValue): string {
  if (value.kind === 'path') return ':_files';
  return value.kind === 'choices'
    ? `:(${value.choices.map((choice) => choice.replaceAll(':', '\\:')).join(' ')})`
    : ': ';
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
