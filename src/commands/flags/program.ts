import { Command, Help, type Option } from 'commander';
import { type EnvironmentVariable, environmentVariables } from './environment-variables.ts';
import {
  type CommandName,
  commandArguments,
  commandDescriptions,
  commandNames,
  commandOptions,
  describeDefault,
} from './options.ts';

export const programName = 'cluster-provider-talos';
const helpWidth = 100;

/** The commands with their options and help texts. Help is written to `write`; errors are thrown and not printed. */
export function createProgram(write: (text: string) => void): Command {
  const program = new Command(programName)
    .description('openMCP cluster provider for Kubernetes clusters on Talos Linux, and access to them.')
    .usage('COMMAND [flags]')
    .helpCommand('help [command]', 'Show the help of a command.')
    .helpOption('-h, --help', 'Show this help.')
    .version('', '--version', 'Print the version.')
    .configureHelp({
      helpWidth,
      subcommandTerm: (command) => command.name(),
      optionDescription: describeOption,
      argumentDescription: ({ description }) => description,
    })
    .configureOutput({ writeOut: write, writeErr: write, outputError: () => {} })
    .addHelpText('after', programHelp);
  for (const name of commandNames) addCommand(program, name);
  return program;
}

function addCommand(program: Command, name: CommandName): void {
  const command = program.command(name).description(commandDescriptions[name]);
  for (const option of commandOptions[name]) command.addOption(option);
  const argument = commandArguments[name];
  if (argument) command.addArgument(argument);
  const choices = argument ? `${argument.argChoices?.join('|') ?? argument.name().toUpperCase()} ` : '';
  const required = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => `${flags} `);
  command.usage(`${choices}${required.join('')}[flags]`).addHelpText('after', describeEnvironment(name));
}

/** The description with the default; the choices of an option are part of its description. */
function describeOption(option: Option): string {
  if (option.mandatory) return `${option.description} Required.`;
  const fallback = describeDefault(option);
  return fallback === '' || fallback === 'false' ? option.description : `${option.description} Default: ${fallback}.`;
}

const programHelp = `
On a platform cluster, apply a ClusterProvider with the image: the openMCP operator starts init and run.
From a terminal, pass the kubeconfig of the platform cluster:

  ${programName} init --environment dev --provider-name talos --kubeconfig platform.kubeconfig
  ${programName} run --environment dev --provider-name talos --kubeconfig platform.kubeconfig --dev

See ${programName} COMMAND --help for the flags of a command.

ProviderConfig objects describe the clusters and their hardware.

Exit codes: 0 success, 1 failure (see the log), 2 invalid command line.
Exit codes of plan, check and status --exit-code: 0 all is well, 1 it is not, 2 the command failed.
All of them: docs/reference/exit-codes.md. Fields of --output json and yaml: docs/reference/output.md.`;

function describeEnvironment(command: CommandName): string {
  const variables = Object.entries<EnvironmentVariable>(environmentVariables).filter(([, { commands }]) =>
    commands.includes(command),
  );
  if (variables.length === 0) return '';
  const help = Object.assign(new Help(), { helpWidth });
  const width = Math.max(...variables.map(([name]) => name.length));
  const items = variables.map(([name, { description, fallback }]) =>
    help.formatItem(name, width, `${description} Default: ${fallback}.`, help),
  );
  return ['\nEnvironment variables:', ...items].join('\n');
}
