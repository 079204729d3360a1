import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { commandOptions } from '../../src/commands/flags/options.ts';
import { findPeer, missingPeers } from '../peers/find-peer.ts';
import { missingForRealKube, type RealKube, startRealKube } from '../peers/kube-apiserver.ts';
import { describeUnlessMissing } from '../support/describe-unless-missing.ts';
import {
  chart,
  runHelm as helm,
  chartObjects as objects,
  onlyOne as one,
  type Rendered,
  renderChart as render,
  setValues as set,
} from './rendered-chart.ts';
import { readProjectFile } from './source-tree.ts';

/** Values with every feature enabled. */
const everything = [
  'withOpenmcpCrds=true',
  'metrics={"secure":true,"serviceMonitor":{"enabled":true,"labels":{"team":"infra"}},"prometheusRule":{"enabled":true},"dashboard":{"enabled":true}}',
  'providerConfigs={"home":{"talos":{"version":"1.13.9"}}}',
  'autoscaler={"enabled":true,"certificateSecret":"autoscaler-server"}',
  'statusPage={"enabled":true,"service":true,"certificateSecret":"status-server"}',
  'replicas=2',
  'extraArgs=["--controllers=cluster,machine"]',
  'extraEnv=[{"name":"HTTPS_PROXY","value":"http://127.0.0.1:3128"}]',
  'image={"tag":"1.2.3","pullSecrets":[{"name":"pull"}]}',
  'nodeSelector={"disk":"fast"}',
  'tolerations=[{"operator":"Exists"}]',
  'podLabels={"team":"infra"}',
  'podAnnotations={"note":"x"}',
  'priorityClassName="system-cluster-critical"',
  'networkPolicy={"enabled":true}',
  'extraVolumes=[{"name":"authorities","configMap":{"name":"ca"}}]',
  'extraVolumeMounts=[{"name":"authorities","mountPath":"/etc/ca"}]',
  'topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]',
];

describeUnlessMissing('the chart', missingPeers('helm'), () => {
  test('T63: passes helm lint', () => {
    const { text } = helm('lint', '--strict', chart);
    expect(text).toContain('0 chart(s) failed');
  });

  test('has the version of the program', () => {
    const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
    const manifest = readProjectFile(`${chart}/Chart.yaml`);
    expect(manifest).toContain(`\nversion: ${version}\n`);
    expect(manifest).toContain(`\nappVersion: ${version}\n`);
  });

  test('starts both commands with flags that exist, init before run', () => {
    const { template } = one(objects(...everything), 'Deployment').spec;
    const [init] = template.spec.initContainers;
    const [run] = template.spec.containers;
    expect([init.args[0], run.args[0]]).toEqual(['init', 'run']);
    for (const [command, words] of [
      ['init', init.args],
      ['run', run.args],
    ] as const) {
      for (const word of words.slice(1)) {
        expect(commandOptions[command].map(({ long }) => long)).toContain(String(word).replace(/=.*/, ''));
      }
    }
    expect(run.args).toContain('--controllers=cluster,machine');
    expect(run.image).toBe('cluster-provider-talos:1.2.3');
    expect(init.args).toContain('--with-openmcp-crds=true');
    const [plain] = one(objects(), 'Deployment').spec.template.spec.initContainers;
    expect(plain.args.join()).not.toContain('openmcp-crds');
  });

  test('gives exactly the rights of config/rbac, to the account of the Pod', () => {
    const list = objects().filter(({ metadata }) => !String(metadata.name).endsWith('-metrics-reader'));
    const rules = (all: readonly Rendered[]) => all.filter(({ rules }) => rules).map(({ rules }) => rules);
    const least = parseAllDocuments(readProjectFile('config/rbac/role.yaml')).map((document) => document.toJS());
    expect(rules(list)).toEqual(rules(least));
    const account = one(list, 'Deployment').spec.template.spec.serviceAccountName;
    for (const { subjects, roleRef } of list.filter(({ kind }) => String(kind).endsWith('Binding'))) {
      expect(subjects).toEqual([{ kind: 'ServiceAccount', name: account, namespace: 'openmcp-system' }]);
      expect(list.some(({ kind, metadata }) => kind === roleRef.kind && metadata.name === roleRef.name)).toBe(true);
    }
  });

  test('C3: exposes metrics only to holders of the metrics role, unless access control is disabled', () => {
    const [least] = parseAllDocuments(readProjectFile('config/rbac/metrics-reader.yaml')).map((document) =>
      document.toJS(),
    );
    const readers = (...values: string[]) =>
      objects(...values).filter(({ kind, rules = [] }) => kind === 'ClusterRole' && rules[0]?.nonResourceURLs);
    expect(readers().map(({ metadata, rules }) => [metadata.name, rules])).toEqual([
      ['talos-cluster-provider-talos-metrics-reader', least.rules],
    ]);
    const argsOf = (...values: string[]) => one(objects(...values), 'Deployment').spec.template.spec.containers[0].args;
    expect(argsOf()).toContain('--metrics-secure=true');
    expect(argsOf('metrics={"secure":false}')).toContain('--metrics-secure=false');
    expect([readers('metrics={"secure":false}'), readers('metrics={"enabled":false}')]).toEqual([[], []]);
    const [endpoint] = one(objects(...everything), 'ServiceMonitor').spec.endpoints;
    expect(endpoint).toMatchObject({ scheme: 'https', bearerTokenFile: expect.stringMatching(/\/token$/) });
  });

  test('serves autoscalers only with a certificate, which the leader reads from a Secret', () => {
    const { containers, volumes } = one(objects(...everything), 'Deployment').spec.template.spec;
    expect(containers[0].args).toContain('--autoscaler-cert-path=/etc/autoscaler');
    expect(containers[0].volumeMounts[0]).toEqual({ name: 'autoscaler', mountPath: '/etc/autoscaler', readOnly: true });
    expect(volumes[0]).toEqual({ name: 'autoscaler', secret: { secretName: 'autoscaler-server' } });
    const services = objects(...everything).filter(({ kind }) => kind === 'Service');
    expect(services.map(({ metadata }) => metadata.name)).toContain('talos-cluster-provider-talos-autoscaler');
    expect(JSON.stringify(objects())).not.toContain('autoscaler');
  });

  test('serves the status page at the loopback address of the Pod, or at a Service for tokens with the role', () => {
    const podOf = (...values: string[]) => one(objects(...values), 'Deployment').spec.template.spec;
    expect(JSON.stringify(objects())).not.toContain('status-bind-address');
    const local = objects('statusPage={"enabled":true}');
    expect(one(local, 'Deployment').spec.template.spec.containers[0].args).toContain(
      '--status-bind-address=127.0.0.1:8082',
    );
    expect(local.filter(({ metadata }) => String(metadata.name).includes('-status'))).toEqual([]);
    const { containers, volumes } = podOf(...everything);
    expect(containers[0].args).toContain('--status-bind-address=:8082');
    expect(containers[0].args).toContain('--status-cert-path=/etc/status-page');
    expect(containers[0].volumeMounts[1]).toMatchObject({ mountPath: '/etc/status-page', readOnly: true });
    expect(volumes[1]).toEqual({ name: 'status-page', secret: { secretName: 'status-server' } });
    const named = objects(...everything).filter(({ metadata }) => String(metadata.name).includes('-status'));
    expect(named.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'ClusterRole talos-cluster-provider-talos-status-reader',
      'Service talos-cluster-provider-talos-status',
    ]);
    const [reader] = parseAllDocuments(readProjectFile('config/rbac/status-reader.yaml')).map((one) => one.toJS());
    expect(named[0]?.rules).toEqual(reader.rules);
  });

  test('requests nothing that a restricted namespace rejects', () => {
    const { spec } = one(objects(), 'Deployment').spec.template;
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    for (const { securityContext } of [...spec.initContainers, ...spec.containers]) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  test('creates ProviderConfigs of its own provider, and omits them while their CRD is missing', () => {
    const home = one(objects(...everything), 'ProviderConfig');
    expect(home.spec).toEqual({ providerRef: { name: 'talos' }, talos: { version: '1.13.9' } });
    const early = helm('template', 'talos', chart, ...set(everything));
    expect(early.text).not.toMatch(/^kind: ProviderConfig$/m);
  });

  test.each([
    ['an unknown value', 'metric={"enabled":true}', /metric/],
    ['a port that is taken', 'metrics={"port":8081}', /metrics\/port|metrics\.port/],
    ['autoscalers without a certificate', 'autoscaler={"enabled":true}', /certificateSecret/],
    ['an invalid provider name', 'providerName="Talos!"', /providerName/],
    ['an unknown verbosity', 'verbosity="loud"', /verbosity/],
    ['a negative number of replicas', 'replicas=-1', /replicas/],
  ])('rejects %s, and names it', (_title, value, recording) => {
    const { text, refused } = render(value);
    expect(refused).toBe(true);
    expect(text).toMatch(recording);
  });
});

describeUnlessMissing('what the chart makes', missingPeers('helm', 'kubectl') ?? missingForRealKube(), () => {
  let kube: RealKube;
  beforeAll(async () => {
    kube = await startRealKube();
    kubectl(['create', 'namespace', 'openmcp-system']);
    const restricted = ['warn', 'enforce'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);
    kubectl(['label', 'namespace', 'openmcp-system', ...restricted]);
  });
  afterAll(() => kube?.close());

  const kubectl = (words: readonly string[], input?: string): string =>
    execFileSync(findPeer('kubectl') ?? 'kubectl', [`--kubeconfig=${kube.kubeconfigPath}`, ...words], {
      encoding: 'utf8',
      ...(input === undefined ? {} : { input }),
      stdio: 'pipe',
    });
  const apply = (list: readonly Rendered[]): string[] => {
    const items = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: list });
    return kubectl(['apply', '--warnings-as-errors', '-f', '-'], items).trim().split('\n');
  };
  // Kinds of the Prometheus operator and one of ours, which this server does not know.
  const foreign = new Set(['ServiceMonitor', 'PrometheusRule', 'ProviderConfig']);
  const known = (...values: string[]) => objects(...values).filter(({ kind }) => !foreign.has(kind));

  test('is accepted by a real API server without a warning, in a restricted namespace', () => {
    const list = known(...everything);
    expect(list.filter(({ kind }) => kind === 'Pod' || kind === 'Deployment')).toHaveLength(2);
    expect(apply(list)).toHaveLength(list.length);
  });

  test('is rejected there with a security context that takes the restrictions away', () => {
    const loose = known('fullnameOverride="loose"', 'securityContext={"allowPrivilegeEscalation":true}');
    expect(() => apply(loose)).toThrow(/allowPrivilegeEscalation/);
  });
});
