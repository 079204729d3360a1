import { type Command, CommanderError } from 'commander';
import {
  type AdoptSettings,
  type BackupSettings,
  type ImportSettings,
  type KubeconfigSettings,
  type TalosconfigSettings,
  toAdoptSettings,
  toBackupSettings,
  toImportSettings,
  toKubeconfigSettings,
  toTalosconfigSettings,
} from './access-settings.ts';
import type { ProcessEnvironment } from './environment-variables.ts';
import { type InitSettings, type RunSettings, toInitSettings, toRunSettings } from './operator-settings.ts';
import type { Shell } from './option-values.ts';
import { type CommandName, commandNames, commandOptions } from './options.ts';
import { createProgram } from './program.ts';
import {
  type BackupsSettings,
  type CheckSettings,
  type HostsSettings,
  type PlanSettings,
  type ReservationsSettings,
  toBackupsSettings,
  toCheckSettings,
  toHostsSettings,
  toPlanSettings,
  toReservationsSettings,
} from './read-only-settings.ts';
import {
  type StatusSettings,
  type SupportBundleSettings,
  toStatusSettings,
  toSupportBundleSettings,
  toWhySettings,
  type WhySettings,
} from './status-settings.ts';
import { UsageError } from './usage-error.ts';

/** The parsed command line. */
export type CommandLine =
  | { readonly command: 'help'; readonly text: string }
  | { readonly command: 'version' }
  | { readonly command: 'completion'; readonly shell: Shell }
  | { readonly command: 'init'; readonly settings: InitSettings }
  | { readonly command: 'run'; readonly settings: RunSettings }
  | { readonly command: 'hosts'; readonly settings: HostsSettings }
  | { readonly command: 'plan'; readonly settings: PlanSettings }
  | { readonly command: 'check'; readonly settings: CheckSettings }
  | { readonly command: 'reservations'; readonly settings: ReservationsSettings }
  | { readonly command: 'status'; readonly settings: StatusSettings }
  | { readonly command: 'why'; readonly settings: WhySettings }
  | { readonly command: 'support-bundle'; readonly settings: SupportBundleSettings }
  | { readonly command: 'talosconfig'; readonly settings: TalosconfigSettings }
  | { readonly command: 'kubeconfig'; readonly settings: KubeconfigSettings }
  | { readonly command: 'backups'; readonly settings: BackupsSettings }
  | { readonly command: 'backup'; readonly settings: BackupSettings }
  | { readonly command: 'import'; readonly settings: ImportSettings }
  | { readonly command: 'adopt'; readonly settings: AdoptSettings };

/** Parses the arguments after the program's name. Throws a {@link UsageError}. */
export function parseCommandLine(argv: readonly string[], environment: ProcessEnvironment): CommandLine {
  if (argv.length === 0) throw missingCommandError();
  let help = '';
  let line: CommandLine | undefined;
  const program = createProgram((text) => {
    help += text;
  });
  program.command('version', { hidden: true }).action(() => {
    line = { command: 'version' };
  });
  for (const command of program.commands) {
    const name = commandNames.find((one) => one === command.name());
    if (name)
      command.action(() => {
        line = readSettings(name, command, environment);
      });
  }
  for (const command of [program, ...program.commands])
    command.exitOverride((error) => {
      throw explainError(command, error);
    });
  try {
    program.parse(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.code === 'commander.version' ? { command: 'version' } : { command: 'help', text: help.trimEnd() };
  }
  if (!line) throw missingCommandError();
  return line;
}

const missingCommandError = () => new UsageError(`A command is required: ${commandNames.join(', ')}. See --help.`);

function readSettings(name: CommandName, command: Command, environment: ProcessEnvironment): CommandLine {
  switch (name) {
    case 'init':
      return { command: name, settings: toInitSettings(command) };
    case 'run':
      return { command: name, settings: toRunSettings(command, environment) };
    case 'hosts':
      return { command: name, settings: toHostsSettings(command, environment) };
    case 'plan':
      return { command: name, settings: toPlanSettings(command, environment) };
    case 'check':
      return { command: name, settings: toCheckSettings(command, environment) };
    case 'reservations':
      return { command: name, settings: toReservationsSettings(command, environment) };
    case 'status':
      return { command: name, settings: toStatusSettings(command) };
    case 'why':
      return { command: name, settings: toWhySettings(command) };
    case 'support-bundle':
      return { command: name, settings: toSupportBundleSettings(command, environment) };
    case 'talosconfig':
      return { command: name, settings: toTalosconfigSettings(command, environment) };
    case 'kubeconfig':
      return { command: name, settings: toKubeconfigSettings(command, environment) };
    case 'backups':
      return { command: name, settings: toBackupsSettings(command, environment) };
    case 'backup':
      return { command: name, settings: toBackupSettings(command, environment) };
    case 'import':
      return { command: name, settings: toImportSettings(command, environment) };
    case 'adopt':
      return { command: name, settings: toAdoptSettings(command, environment) };
    case 'completion': {
      const [shell] = command.processedArgs as [Shell];
      return { command: name, shell };
    }
  }
}

/** The error of the library as one sentence with what to do next. A request for help or the version stays as it is. */
function explainError(command: Command, error: CommanderError): Error {
  const isRoot = command.parent === null;
  const more = `See ${isRoot ? '' : `${command.name()} `}--help.`;
  switch (error.code) {
    case 'commander.help':
    case 'commander.helpDisplayed':
    case 'commander.version':
      return error;
    case 'commander.unknownCommand':
      return new UsageError(`There is no command ${command.args[0]}: use ${commandNames.join(', ')}. ${more}`);
    case 'commander.unknownOption':
      return new UsageError(explainUnknownFlag(command, error.message));
    case 'commander.excessArguments':
      return new UsageError(
        `${command.name()} takes no argument ${command.args[command.registeredArguments.length]}; flags begin with --. ${more}`,
      );
    case 'commander.optionMissingArgument':
      return new UsageError(`${quotedIn(error.message)} needs a value. ${more}`);
    case 'commander.missingArgument':
    case 'commander.invalidArgument':
      if (command.registeredArguments.length > 0 && !error.message.includes("option '"))
        return new UsageError(`Use ${command.name()} ${command.usage()}. ${more}`);
      return new UsageError(describeInvalidOption(error, more));
    case 'commander.missingMandatoryOptionValue':
      return new UsageError(`${quotedIn(error.message)} is missing. ${more}`);
    default:
      return new UsageError(describeInvalidOption(error, more));
  }
}

const describeInvalidOption = ({ message }: Error, more: string): string =>
  `${withoutKey(message).replace(/^error: option '(.+?)' argument/, '$1:')} ${more}`;

/** The library quotes the value, which may be a private key that a user has confused with the public one. */
const withoutKey = (message: string): string => message.replace(/'AGE-SECRET-KEY-[^']*'/i, 'the value');

const quotedIn = (message: string): string => /'([^']+)'/.exec(message)?.[1] ?? '';

/** Names the flag without its value, which may be a secret. */
function explainUnknownFlag(command: Command, message: string): string {
  const given = quotedIn(message);
  const flag = given.startsWith('--') ? given.replace(/=.*/s, '') : given.slice(0, 2);
  const owners = commandNames.filter((name) =>
    commandOptions[name].some(({ long, short }) => flag === long || flag === short),
  );
  const at = message.indexOf('(Did you mean');
  const suggestion = at === -1 ? '' : message.slice(at);
  if (owners.length === 0) return ['There is no flag', `${flag}.`, suggestion, 'See --help.'].filter(Boolean).join(' ');
  if (command.parent) return `${command.name()} has no flag ${flag}; it belongs to ${owners.join(' and ')}.`;
  return `${flag} belongs after the command: ${owners.join(' or ')}. See --help.`;
}
