#!/usr/bin/env node
import manifest from '../package.json' with { type: 'json' };
import { createLog } from './commands/create-log.ts';
import { exitCodes } from './commands/flags/exit-codes.ts';
import type { ProcessContext } from './commands/flags/operator-settings.ts';
import { type CommandLine, parseCommandLine } from './commands/flags/parse-command-line.ts';
import { UsageError } from './commands/flags/usage-error.ts';
import { setHeapGrowth } from './commands/heap-settings.ts';
import type { Log } from './lib/log.ts';

/** Whether the exit code of a command is its verdict, so that a failed run needs a different one. */
const isDiagnostic = ({ command, settings }: RunnableCommand): boolean =>
  ['plan', 'check'].includes(command) || ('exitCode' in settings && settings.exitCode);

/** Runs the command that the arguments name. Resolves with the exit code. */
async function main(): Promise<number> {
  const line = readCommandLine();
  if (line === undefined) return exitCodes.usage;
  if (line.command === 'help') return print(line.text);
  if (line.command === 'version') return print(manifest.version);
  if (line.command === 'completion') {
    const { renderCompletion } = await import('./commands/completion.ts');
    return print(renderCompletion(line.shell));
  }
  const { settings } = line;
  if (settings.dryRun) return print(JSON.stringify({ command: line.command, ...settings }, null, 2));
  const log = createLog(settings.logging, process.stderr);
  const edges = { log, signal: watchSignals(log) };
  exitOnUncaughtErrors(log);
  logNodeWarnings(log);
  try {
    return (await startCommand(line, edges)) ? exitCodes.done : exitCodes.failed;
  } catch (error) {
    log.error({ command: line.command, error }, 'command failed');
    return isDiagnostic(line) ? exitCodes.unseen : exitCodes.failed;
  }
}

type RunnableCommand = Extract<CommandLine, { settings: unknown }>;

/** Each command is loaded on demand: `init` needs little of what `run` needs. Returns whether all is well. */
async function startCommand(line: RunnableCommand, edges: ProcessContext): Promise<boolean> {
  switch (line.command) {
    case 'init': {
      const { runInit: init } = await import('./commands/init.ts');
      await init({ ...line.settings, ...edges });
      return true;
    }
    case 'run': {
      setHeapGrowth();
      const { runProvider: run } = await import('./commands/run.ts');
      await run({ ...line.settings, ...edges, release: manifest.version });
      return true;
    }
    case 'hosts': {
      const { runHosts: hosts } = await import('./commands/hosts.ts');
      await hosts({ ...line.settings, ...edges, print });
      return true;
    }
    case 'plan': {
      const { runPlan: plan } = await import('./commands/plan.ts');
      return await plan({ ...line.settings, ...edges, print });
    }
    case 'check': {
      const { runCheck: check } = await import('./commands/check.ts');
      return await check({ ...line.settings, ...edges, print });
    }
    case 'reservations': {
      const { runReservations: reservations } = await import('./commands/reservations.ts');
      await reservations({ ...line.settings, ...edges, print });
      return true;
    }
    case 'status': {
      const { runStatus: status } = await import('./commands/status.ts');
      return await status({ ...line.settings, ...edges, print });
    }
    case 'why': {
      const { runWhy: why } = await import('./commands/why.ts');
      await why({ ...line.settings, ...edges, print });
      return true;
    }
    case 'support-bundle': {
      const { runSupportBundle: bundle } = await import('./commands/support-bundle.ts');
      await bundle({ ...line.settings, ...edges, print, release: manifest.version });
      return true;
    }
    case 'talosconfig': {
      const { runTalosconfig: talosconfig } = await import('./commands/talosconfig.ts');
      await talosconfig({ ...line.settings, ...edges, print });
      return true;
    }
    case 'kubeconfig': {
      const { runKubeconfig: kubeconfig } = await import('./commands/kubeconfig.ts');
      await kubeconfig({ ...line.settings, ...edges, print });
      return true;
    }
    case 'backups': {
      const { runBackups: backups } = await import('./commands/backups.ts');
      await backups({ ...line.settings, ...edges, print });
      return true;
    }
    case 'backup': {
      const { runBackup: backup } = await import('./commands/backup.ts');
      await backup({ ...line.settings, ...edges, print });
      return true;
    }
    case 'import': {
      const { runImport: importCluster } = await import('./commands/import.ts');
      await importCluster({ ...line.settings, ...edges, print });
      return true;
    }
    case 'adopt': {
      const { runAdopt: adopt } = await import('./commands/adopt.ts');
      await adopt({ ...line.settings, ...edges, print });
      return true;
    }
  }
}

function readCommandLine(): CommandLine | undefined {
  try {
    return parseCommandLine(process.argv.slice(2), process.env);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return undefined;
  }
}

/**
 * `plan | head`: the reader has closed the pipe, so nothing is left to do. 141 is what a shell reports for SIGPIPE (128
 * + 13).
 */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(exitCodes.readerGone);
});

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return exitCodes.done;
}

/** Aborts on the first SIGTERM or SIGINT, so that work can end in order; a second signal ends the process at once. */
function watchSignals(log: Log): AbortSignal {
  const stopping = new AbortController();
  const stop = (signal: NodeJS.Signals) => {
    if (stopping.signal.aborted) process.exit(exitCodes.failed);
    log.info({ signal }, 'stopping');
    stopping.abort(new DOMException(`stopped by ${signal}`, 'AbortError'));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  return stopping.signal;
}

/** An uncaught error is a bug: it is logged like everything else, and the Pod restarts. */
function exitOnUncaughtErrors(log: Log): void {
  const exit = (error: unknown) => {
    log.error({ error }, 'uncaught error');
    process.exit(exitCodes.failed);
  };
  process.on('uncaughtException', exit);
  process.on('unhandledRejection', exit);
}

/** Node prints warnings in its own format, which log parsers cannot read. */
function logNodeWarnings(log: Log): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message, stack, ...more }) => {
    const code = 'code' in more ? { code: more.code } : {};
    log.warn({ warning: name, ...code, error: message }, 'warning of Node');
    log.debug({ stack }, 'where it comes from');
  });
}

process.exitCode = await main();
