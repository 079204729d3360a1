import type { CompletedCommand, CompletedFlag, CompletedValue, CompletionModel } from './completion-model.ts';

/**
 * A script for bash 4 or newer. It needs no package of completions. Words of the model have no character that bash would
 * expand.
 */
export function renderBashScript({ program, commands }: CompletionModel): string {
  const name = `_${program.replaceAll('-', '_')}`;
  const names = commands.map((command) => command.name).join(' ');
  return `# Completion of ${program} for bash: source <(${program} completion bash)
${name}() {
  local line=\${COMP_LINE:0:COMP_POINT} cur flag='' rest words='' isPath=''
  # A word of ours may have : and =, at which bash splits it.
  cur=\${line##*[[:space:]]}
  rest=\${line%"$cur"}
  rest=\${rest%"\${rest##*[![:space:]]}"}
  if [[ $cur == --*=* ]]; then
    flag=\${cur%%=*}
    cur=\${cur#*=}
  else
    flag=\${rest##*[[:space:]]}
  fi
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '${names} --help --version' -- "$cur"))
    return
  fi
  case "\${COMP_WORDS[1]} $flag" in
${commands.flatMap(renderFlagCases).join('\n')}
  *)
    case "\${COMP_WORDS[1]}" in
${commands.map(renderCommandCase).join('\n')}
    esac
    [[ $cur == -* ]] || words=\${words%%--*}
    ;;
  esac
  if [[ -n $isPath ]]; then
    compopt -o filenames 2>/dev/null
    local path
    while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen -f -- "$cur")
    return
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  # bash replaces only what follows the last of these characters.
  if [[ $COMP_WORDBREAKS == *:* && $cur == *:* ]]; then
    COMPREPLY=("\${COMPREPLY[@]#"\${cur%"\${cur##*:}"}"}")
  fi
}
complete -F ${name} ${program}`;
}

/** Flags whose value is next. */
function renderFlagCases({ name, flags }: CompletedCommand): string[] {
  return flags.flatMap((flag) => {
    const { value } = flag;
    if (!value) return [];
    const patterns = spellings(flag).map((spelling) => `'${name} ${spelling}'`);
    return [`  ${patterns.join(' | ')}) ${renderValue(value)} ;;`];
  });
}

const spellings = ({ long, short }: CompletedFlag): string[] => [long, ...(short ? [short] : [])];

function renderValue(value: CompletedValue): string {
  if (value.kind === 'path') return 'isPath=yes';
  return `words='${value.kind === 'choices' ? value.choices.join(' ') : ''}'`;
}

/** The argument first: without a dash only these are shown. */
function renderCommandCase({ name, flags, argument }: CompletedCommand): string {
  const choices = argument?.kind === 'choices' ? argument.choices : [];
  return `    ${name}) words='${[...choices, ...flags.map(({ long }) => long)].join(' ')}' ;;`;
}
