import { Command, Help, type Option } from 'commander';
import { type EnvironmentVariable, environmentVariables } from './environment-variables.ts';
import { type CommandName, commandDescriptions, commandNames, commandOptions, describeDefault } from './options.ts';

const programName = 'cluster-provider-talos';
const helpWidth = 100;

/** The commands with their options and help texts. Help is written to `write`; errors are thrown and not printed. */
export function createProgram(write: (text: string) => void): Command {
  const program = new Command(programName)
    .description('Kubernetes clusters on Talos Linux for openMCP, and exact access to them.')
    .usage('COMMAND [flags]')
    .helpCommand('help [command]', 'Explain a command.')
    .helpOption('-h, --help', 'Explain the program or a command.')
    .version('', '--version', 'Print the version.')
    .configureHelp({ helpWidth, subcommandTerm: (command) => command.name(), optionDescription: describeOption })
    .configureOutput({ writeOut: write, writeErr: write, outputError: () => {} })
    .addHelpText('after', programHelp);
  for (const name of commandNames) addCommand(program, name);
  return program;
}

function addCommand(program: Command, name: CommandName): void {
  const command = program.command(name).description(commandDescriptions[name]);
  for (const option of commandOptions[name]) command.addOption(option);
  const required = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => `${flags} `);
  command.usage(`${required.join('')}[flags]`).addHelpText('after', describeEnvironment(name));
}

/** The description with the default; the choices of an option are part of its description. */
function describeOption(option: Option): string {
  if (option.mandatory) return `${option.description} Required.`;
  const fallback = describeDefault(option);
  return fallback === '' || fallback === 'false' ? option.description : `${option.description} Default: ${fallback}.`;
}

const programHelp = `
The openMCP operator starts init and run on the platform cluster: apply a ClusterProvider with the image.
From a terminal, pass the kubeconfig of the platform cluster:

  ${programName} init --environment dev --provider-name talos --kubeconfig platform.kubeconfig
  ${programName} run --environment dev --provider-name talos --kubeconfig platform.kubeconfig --dev

Flags are explained by ${programName} run --help.

Clusters and their hardware are described by ProviderConfig objects, not by flags.

Exit codes: 0 done, 1 failed (the log says why), 2 the command line is wrong.
Of plan and check: 0 all is well, 1 something was found, 2 it could not be found out.`;

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
