import { describe, expect, test } from 'vitest';
import type { RunSettings } from './operator-settings.ts';
import { commandNames, commandOptions } from './options.ts';
import { parseCommandLine } from './parse-command-line.ts';
import { UsageError } from './usage-error.ts';

const named = ['--environment=dev', '--provider-name=talos'];
const inPod = { POD_NAMESPACE: 'openmcp-system', POD_NAME: 'cp-talos-1' };

function run(...words: string[]): RunSettings {
  const line = parseCommandLine(['run', ...named, ...words], inPod);
  if (line.command !== 'run') throw new Error(`parsed as ${line.command}`);
  return line.settings;
}

const complaint = (argv: string[], environment: Record<string, string> = inPod): string => {
  try {
    parseCommandLine(argv, environment);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return '';
};

describe('accepts the arguments of the openMCP operator', () => {
  test('init with its three flags', () => {
    const argv = ['init', '--environment=dev', '--verbosity=INFO', '--provider-name=talos'];
    expect(parseCommandLine(argv, {})).toEqual({
      command: 'init',
      settings: {
        environment: 'dev',
        providerName: 'talos',
        logging: { verbosity: 'info', format: 'json', timestamps: true, stacks: true },
        dryRun: false,
        withOpenmcpCrds: false,
      },
    });
  });

  test('init that also installs the openMCP kinds, and no other command', () => {
    const names = ['--environment=dev', '--provider-name=talos', '--with-openmcp-crds'];
    expect(parseCommandLine(['init', ...names], {})).toHaveProperty('settings.withOpenmcpCrds', true);
    expect(() => parseCommandLine(['run', ...names], { POD_NAMESPACE: 'x' })).toThrow(/with-openmcp-crds/);
  });

  test('run with metrics and leader election, as with several replicas', () => {
    const settings = run(
      '--verbosity=DEBUG',
      '--leader-elect=true',
      '--metrics-bind-address=:8080',
      '--metrics-secure=false',
    );
    expect(settings).toMatchObject({
      logging: { verbosity: 'debug' },
      metrics: { address: { host: '', port: 8080 }, secure: false },
      health: { host: '', port: 8081 },
      podNamespace: 'openmcp-system',
      podName: 'cp-talos-1',
      accessNamespace: 'accessrequests',
      controllers: ['providerconfig', 'cluster', 'machine', 'host', 'accessrequest'],
    });
  });

  test('metrics stay off when the operator does not ask for them', () => {
    expect(run().metrics).toBeUndefined();
  });

  test('every flag of the other providers, so that switching providers does not crash-loop a Pod', () => {
    for (const { long, mandatory, required, argChoices, defaultValueDescription } of commandOptions.run) {
      if (mandatory) continue;
      const value = required ? (argChoices?.[0] ?? defaultValueDescription ?? '0') : 'true';
      expect(complaint(['run', ...named, `${long}=${value}`]), long).toBe('');
    }
  });
});

describe('the notations that people type', () => {
  test.each([
    [['--verbosity', 'debug'], 'debug'],
    [['-v', 'debug'], 'debug'],
    [['-vdebug'], 'debug'],
    [['-v=Debug'], 'debug'],
    [['-v', 'debug', '-v', 'error'], 'error'],
    [['--dev'], 'debug'],
    [['--dev', '-v', 'info'], 'info'],
  ])('%j means verbosity %s', (words, level) => {
    expect(run(...words).logging.verbosity).toBe(level);
  });

  test('--cli is text without times and stacks', () => {
    expect(run('--cli').logging).toEqual({ verbosity: 'info', format: 'text', timestamps: false, stacks: false });
  });

  test.each([
    [':8080', { host: '', port: 8080 }],
    ['127.0.0.1:0', { host: '127.0.0.1', port: 0 }],
    ['[::1]:8443', { host: '::1', port: 8443 }],
    ['0', undefined],
    ['', undefined],
  ])('an address %j', (text, address) => {
    expect(run(`--health-probe-bind-address=${text}`).health).toEqual(address);
  });

  test('traces are sent to a URL, if there is one', () => {
    expect(run()).not.toHaveProperty('otlpEndpoint');
    expect(run('--otlp-endpoint=0')).not.toHaveProperty('otlpEndpoint');
    expect(run('--otlp-endpoint=http://collector:4318/').otlpEndpoint).toBe('http://collector:4318');
    for (const wrong of ['collector:4318', 'file:///tmp/x', 'http://user:secret@collector:4318'])
      expect(complaint(['run', ...named, `--otlp-endpoint=${wrong}`]), wrong).toMatch(/http:\/\/collector:4318/);
  });

  test('autoscalers are served at an address, with certificates only', () => {
    expect(run()).not.toHaveProperty('autoscaler');
    expect(run('--autoscaler-bind-address=0')).not.toHaveProperty('autoscaler');
    expect(run('--autoscaler-bind-address=:8086', '--autoscaler-cert-path=/certs').autoscaler).toEqual({
      address: { host: '', port: 8086 },
      folder: '/certs',
    });
    expect(complaint(['run', ...named, '--autoscaler-bind-address=:8086'])).toMatch(
      /^--autoscaler-cert-path is missing: .* Name a folder with tls\.crt, tls\.key and ca\.crt\.$/,
    );
  });

  test('a folder with a certificate for metrics', () => {
    const settings = run('--metrics-bind-address=:1', '--metrics-cert-path=/certs', '--metrics-cert-key', 'key.pem');
    expect(settings.metrics?.certificate).toEqual({ folder: '/certs', certFile: 'tls.crt', keyFile: 'key.pem' });
  });

  test('controllers by name, in a fixed order', () => {
    expect(run('--controllers=machine,cluster').controllers).toEqual(['cluster', 'machine']);
  });

  test('the usual namespace is the default outside of a Pod and required inside', () => {
    const line = parseCommandLine(['run', ...named, '--kubeconfig', 'x'], {});
    expect(line).toMatchObject({ settings: { podNamespace: 'openmcp-system', kubeconfig: 'x' } });
    expect(complaint(['run', ...named], { KUBERNETES_SERVICE_HOST: '10.96.0.1' })).toContain('POD_NAMESPACE');
    expect(complaint(['run', ...named], {})).toBe('');
  });
});

describe('commands that users start', () => {
  const at = ['--kubeconfig', 'x'];

  test.each([
    [['hosts', '--account=robot'], { account: 'robot' }],
    [['hosts', '--account=robot', '--url', 'https://x', '--ca-file=y'], { url: 'https://x', caFile: 'y' }],
    [['plan', '--cluster=shop/prod'], { cluster: { namespace: 'shop', name: 'prod' } }],
    [['plan', '--cluster=shop/prod', '--provider-config=metal'], { providerConfig: 'metal' }],
    [['plan', '--provider-config=metal'], { providerConfig: 'metal', documents: false }],
    [['check', '--provider-config=metal'], { providerConfig: 'metal' }],
    [['reservations', '--provider-config=home'], { providerConfig: 'home', dhcpServer: 'text' }],
    [['reservations', '--provider-config=home', '--dhcp-server=Kea'], { dhcpServer: 'kea' }],
    [['talosconfig', '--cluster=a/b'], { role: 'os:reader', ttlSeconds: 28_800, force: false }],
    [['talosconfig', '--cluster=a/b', '--role=OS:Admin', '--ttl=24h'], { role: 'os:admin', ttlSeconds: 86_400 }],
    [['kubeconfig', '--cluster=a/b', '--ttl=1h30m'], { rights: { role: 'reader' }, ttlSeconds: 5400 }],
    [['kubeconfig', '--cluster=a/b', '--role=admin', '--ttl=300s'], { rights: { role: 'admin' }, ttlSeconds: 300 }],
    [['kubeconfig', '--cluster=a/b', '--group=x', '--group', 'y:z'], { rights: { groups: ['x', 'y:z'] } }],
    [['kubeconfig', '--cluster=a/b', '--output-file=f', '--force'], { outputFile: 'f', force: true }],
  ])('%j', (argv, settings) => {
    const line = parseCommandLine([...argv, ...at], {});
    expect(line).toMatchObject({ command: argv[0], settings: { ...settings, podNamespace: 'openmcp-system' } });
  });

  test.each([
    [['check', '--config=a.yaml'], { config: 'a.yaml' }],
    [['plan', '--config=a.yaml', '--credentials-file=b'], { config: 'a.yaml', credentials: 'b' }],
  ])('%j reads files, without a platform cluster', (argv, files) => {
    const line = parseCommandLine(argv, {});
    expect(line).toMatchObject({ command: argv[0], settings: { files, podNamespace: 'openmcp-system' } });
  });

  test.each([
    [['status'], { output: 'table', watch: false, exitCode: false }],
    [['status', '-n', 'shop', '-o=YAML', '--exit-code'], { namespace: 'shop', output: 'yaml', exitCode: true }],
    [['status', '--watch'], { watch: true }],
    [['why', 'prod'], { object: { name: 'prod' }, output: 'text' }],
    [['why', 'shop/prod'], { object: { name: 'prod' }, namespace: 'shop' }],
    [['why', 'Machine/prod-cp-0', '--output', 'json'], { object: { kind: 'Machine', name: 'prod-cp-0' } }],
    [
      ['why', 'tm/prod.cp-0', '--namespace=shop'],
      { object: { kind: 'Machine', name: 'prod.cp-0' }, namespace: 'shop' },
    ],
  ])('%j needs no namespace of the provider', (argv, settings) => {
    const line = parseCommandLine(argv, { KUBERNETES_SERVICE_HOST: '10.96.0.1' });
    expect(line).toMatchObject({ command: argv[0], settings });
  });

  test('use the text log by default', () => {
    const logging = (...words: string[]) => {
      const line = parseCommandLine(['check', '--provider-config=metal', ...at, ...words], {});
      return 'settings' in line ? line.settings.logging : undefined;
    };
    expect(logging()).toMatchObject({ format: 'text', timestamps: false, stacks: false });
    expect(logging('--format=json')).toMatchObject({ format: 'json' });
    expect(logging('--cli=false')).toMatchObject({ format: 'json', timestamps: true, stacks: true });
    expect(logging('--dev')).toMatchObject({ verbosity: 'debug', timestamps: true });
  });
});

describe('reports an invalid command line in one sentence that names the argument', () => {
  test.each([
    [[], 'init, run, hosts'],
    [['start'], 'start'],
    [['init', 'again', ...named], 'again'],
    [['hosts'], '--account'],
    [['plan'], '--cluster, --provider-config or --config'],
    [['plan', '--provider-config=metal', '--documents'], '--documents needs --cluster or --config'],
    [['plan', '--cluster=prod'], 'shop/prod'],
    [['plan', '--cluster=a/b/c'], 'a/b/c'],
    [['check'], '--provider-config'],
    [['check', '--config=a.yaml', '--kubeconfig=x'], '--kubeconfig'],
    [['reservations'], '--provider-config'],
    [['reservations', '--provider-config=home', '--dhcp-server=windows'], 'windows'],
    [['reservations', '--provider-config=home', '--config=a.yaml'], '--config'],
    [['check', '--provider-config=metal', '--credentials-file=x'], '--credentials-file'],
    [['talosconfig'], '--cluster'],
    [['talosconfig', '--cluster=a/b', '--role=root'], 'os:reader'],
    [['talosconfig', '--cluster=a/b', '--ttl=1d'], 'e.g. 8h'],
    [['talosconfig', '--cluster=a/b', '--ttl='], 'e.g. 8h'],
    [['talosconfig', '--cluster=a/b', '--ttl=4m59s'], 'at least 5m'],
    [['talosconfig', '--cluster=a/b', '--ttl=24h1s'], 'at most 24h'],
    [['talosconfig', '--cluster=a/b', '--force'], '--force needs --output-file'],
    [['kubeconfig', '--cluster=a/b', '--role=reader', '--group=x'], '--role and --group'],
    [['kubeconfig', '--cluster=a/b', '--group=system:masters'], '--role admin'],
    [['kubeconfig', '--cluster=a/b', '--group=system:nodes'], 'system:'],
    [['kubeconfig', '--cluster=a/b', '--group=#05'], 'letters'],
    [['kubeconfig', '--cluster=a/b', `--group=${'g'.repeat(65)}`], '64'],
    [['status', '--watch', '--output=json'], '--watch and --output'],
    [['status', '--watch', '--exit-code'], '--watch and --exit-code'],
    [['status', 'prod'], 'prod'],
    [['why'], 'Use why OBJECT'],
    [['why', 'a_b/c'], 'Use why OBJECT'],
    [['why', 'shop/prod', '--namespace=other'], 'in namespace shop, and --namespace is other'],
    [['why', 'a,metadata.namespace=b'], 'Use why OBJECT'],
    [['why', 'prod', '--output=table'], 'text, json, yaml'],
    [['check', '--provider-config=metal', '--environment=dev'], '--environment'],
    [['run', ...named, '--bogus'], '--bogus'],
    [['run', ...named, '--bogus=1'], '--bogus'],
    [['run', ...named, '-x'], '-x'],
    [['run', ...named, '--environmnet', 'dev'], 'Did you mean --environment?'],
    [['--environment=dev', 'init'], 'after the command: init or run'],
    [['--dev'], 'after the command'],
    [['run', '--environment=dev'], '--provider-name'],
    [['run', '--environment=', '--provider-name=talos'], '--environment'],
    [['run', ...named, '--kubeconfig'], '--kubeconfig'],
    [['run', ...named, '--verbosity=loud'], 'loud'],
    [['run', ...named, '--format=xml'], 'xml'],
    [['run', ...named, '--leader-elect=maybe'], 'maybe'],
    [['run', ...named, '--metrics-bind-address=8080'], '--metrics-bind-address'],
    [['run', ...named, '--metrics-bind-address=:99999'], ':99999'],
    [['run', ...named, '--controllers=cluster,wheel'], 'wheel'],
    [['run', ...named, '--controllers='], '--controllers'],
    [['init', ...named, '--metrics-secure=false'], '--metrics-secure'],
    [['run', '--environment=dev', '--provider-name=Talos'], '--provider-name'],
    [['run', '--environment=dev', `--provider-name=${'a'.repeat(64)}`], '--provider-name'],
    [['run', `--environment=${'e'.repeat(40)}`, `--provider-name=${'a'.repeat(30)}`], 'too long'],
  ])('%j', (argv, name) => {
    const message = complaint(argv);
    expect(message).toContain(name);
    expect(message).not.toContain('\n');
  });
});

test.each([['--password=hunter2'], ['-phunter2']])('does not print the value of an unknown flag: %s', (item) => {
  expect(complaint(['run', ...named, item])).toMatch(/^There is no flag -[^=]*\. See --help\.$/);
  expect(complaint(['run', ...named, item])).not.toContain('hunter2');
});

describe('help', () => {
  const helpOf = (...argv: string[]): string => {
    const line = parseCommandLine(argv, {});
    return line.command === 'help' ? line.text : '';
  };

  test.each([['--help'], ['help'], ['-h'], ['help', 'bogus']])('%s', (...argv) => {
    for (const name of commandNames) expect(helpOf(...argv)).toMatch(new RegExp(`^  ${name} `, 'm'));
    expect(helpOf(...argv)).not.toMatch(/^ {2}version /m);
  });

  test('of a command names every flag of that command', () => {
    for (const name of commandNames) {
      const text = helpOf(name, '--help');
      for (const { long, description } of commandOptions[name]) {
        expect(text, name).toContain(long);
        expect(text.replace(/\s+/g, ' '), long).toContain(description);
      }
      expect(helpOf('help', name)).toBe(text);
    }
    expect(helpOf('init', '-h')).not.toContain('--metrics-bind-address');
    expect(helpOf('run', '-h')).toContain('POD_NAMESPACE');
  });

  test('fits the width of a terminal', () => {
    for (const argv of [[], ...commandNames.map((name) => [name])]) {
      for (const line of helpOf(...argv, '--help').split('\n')) expect(line.length, line).toBeLessThanOrEqual(110);
    }
  });

  test.each([['--version'], ['version'], ['run', '--version']])('%s: the version', (...argv) => {
    expect(parseCommandLine(argv, {})).toEqual({ command: 'version' });
  });
});
