import {
  type CommandName,
  commandDescriptions,
  type EnvironmentVariable,
  environmentVariables,
  type FlagDefinition,
  flagDefinitions,
} from './flag-definitions.ts';

const program = 'cluster-provider-talos';
const lineWidth = 100;
const indent = 6;

/** The output of `--help` for the program, or for one of its commands. */
export function describeHelp(topic?: CommandName): string {
  return topic ? describeCommand(topic) : describeProgram();
}

function describeProgram(): string {
  return [
    `${program}: Kubernetes clusters on Talos Linux for openMCP, and exact access to them.`,
    `Usage: ${program} ${Object.keys(commandDescriptions).join('|')} [flags]`,
    ['Commands:', ...Object.entries(commandDescriptions).map(([name, about]) => `  ${name.padEnd(14)}${about}`)].join(
      '\n',
    ),
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

function describeCommand(command: CommandName): string {
  const entries = Object.entries<FlagDefinition>(flagDefinitions).filter(([, flag]) => flag.commands.includes(command));
  const needed = entries
    .filter(([, flag]) => flag.required?.includes(command))
    .map(([name, flag]) => `--${name} ${flag.value} `);
  const used = entries.filter(([, flag]) => !isIgnoredFlag(flag));
  const unused = entries.filter(([, flag]) => isIgnoredFlag(flag)).map(([name]) => `--${name}`);
  const environment = Object.entries<EnvironmentVariable>(environmentVariables).filter(([, one]) =>
    one.commands.includes(command),
  );
  return [
    `${program} ${command}: ${commandDescriptions[command]}`,
    `Usage: ${program} ${command} ${needed.join('')}[flags]`,
    ['Flags (--name=value or --name value):', ...used.map(([name, flag]) => describeFlag(command, name, flag))].join(
      '\n',
    ),
    ...(environment.length > 0
      ? [['Environment:', ...environment.map(([name, one]) => describeVariable(name, one))].join('\n')]
      : []),
    wrapText(`Taken for the sake of other providers' habits, without effect: ${unused.join(', ')}.`, 0),
  ].join('\n\n');
}

const isIgnoredFlag = (flag: FlagDefinition) => flag.description.startsWith('Taken and not');

function describeFlag(command: CommandName, name: string, flag: FlagDefinition): string {
  const head = `  ${flag.short ? `-${flag.short}, ` : ''}--${name}${flag.value ? ` ${flag.value}` : ''}`;
  const fallback = flag.required?.includes(command) ? ' Required.' : flag.fallback ? ` Default: ${flag.fallback}.` : '';
  return `${head}\n${wrapText(flag.description + fallback, indent)}`;
}

const describeVariable = (name: string, one: EnvironmentVariable) =>
  `  ${name}\n${wrapText(`${one.description} Default: ${one.fallback}.`, indent)}`;

function wrapText(text: string, margin: number): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > lineWidth - margin) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((line) => ' '.repeat(margin) + line).join('\n');
}
