import { type Command, commands, type Flag, flags, type Variable, variables } from './flag-table.ts';

const program = 'cluster-provider-talos';
const width = 100;
const indent = 6;

/** What `--help` prints: for the program, or for one of its commands. */
export function describeHelp(topic?: Command): string {
  return topic ? describeCommand(topic) : describeProgram();
}

function describeProgram(): string {
  return [
    `${program}: Kubernetes clusters on Talos Linux for openMCP, and exact access to them.`,
    `Usage: ${program} ${Object.keys(commands).join('|')} [flags]`,
    ['Commands:', ...Object.entries(commands).map(([name, about]) => `  ${name.padEnd(14)}${about}`)].join('\n'),
    'The openMCP operator starts init and run on the platform cluster: apply a ClusterProvider with the image.\n' +
      `From a terminal, pass the kubeconfig of the platform cluster:\n\n` +
      `  ${program} init --environment dev --provider-name talos --kubeconfig platform.kubeconfig\n` +
      `  ${program} run --environment dev --provider-name talos --kubeconfig platform.kubeconfig --dev`,
    `Flags are explained by ${program} run --help. --version prints the version.`,
    'What is to be made is not told by flags: it stands in ProviderConfig objects.',
    'Exit codes: 0 done, 1 failed (the log says why), 2 the command line is wrong.\n' +
      'Of plan and check: 0 all is well, 1 something was found, 2 it could not be found out.',
  ].join('\n\n');
}

function describeCommand(command: Command): string {
  const entries = Object.entries<Flag>(flags).filter(([, flag]) => flag.commands.includes(command));
  const needed = entries
    .filter(([, flag]) => flag.required?.includes(command))
    .map(([name, flag]) => `--${name} ${flag.value} `);
  const used = entries.filter(([, flag]) => !isUnused(flag));
  const unused = entries.filter(([, flag]) => isUnused(flag)).map(([name]) => `--${name}`);
  const environment = Object.entries<Variable>(variables).filter(([, one]) => one.commands.includes(command));
  return [
    `${program} ${command}: ${commands[command]}`,
    `Usage: ${program} ${command} ${needed.join('')}[flags]`,
    ['Flags (--name=value or --name value):', ...used.map(([name, flag]) => describeFlag(command, name, flag))].join(
      '\n',
    ),
    ...(environment.length > 0
      ? [['Environment:', ...environment.map(([name, one]) => describeVariable(name, one))].join('\n')]
      : []),
    wrap(`Taken for the sake of other providers' habits, without effect: ${unused.join(', ')}.`, 0),
  ].join('\n\n');
}

const isUnused = (flag: Flag) => flag.about.startsWith('Taken and not');

function describeFlag(command: Command, name: string, flag: Flag): string {
  const head = `  ${flag.short ? `-${flag.short}, ` : ''}--${name}${flag.value ? ` ${flag.value}` : ''}`;
  const fallback = flag.required?.includes(command) ? ' Required.' : flag.fallback ? ` Default: ${flag.fallback}.` : '';
  return `${head}\n${wrap(flag.about + fallback, indent)}`;
}

const describeVariable = (name: string, one: Variable) =>
  `  ${name}\n${wrap(`${one.about} Default: ${one.fallback}.`, indent)}`;

function wrap(text: string, margin: number): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width - margin) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((line) => ' '.repeat(margin) + line).join('\n');
}
