import { describe, expect, test } from 'vitest';
import { missingPeers } from '../peers/find-peer.ts';
import { describeUnlessMissing } from '../support/describe-unless-missing.ts';
import { chartObjects, onlyOne, type Rendered, renderChart } from './rendered-chart.ts';

const deployment = (...values: string[]): Rendered => onlyOne(chartObjects(...values), 'Deployment');
const podOf = (...values: string[]): Rendered => deployment(...values).spec.template.spec;
const digest = `sha256:${'0a'.repeat(32)}`;

/** What a selector matches: it is a part of the labels. */
const selects = (selector: Record<string, string>, labels: Record<string, string>): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);

describeUnlessMissing('what the values of the chart change', missingPeers('helm'), () => {
  describe('names', () => {
    const namesOf = (...values: string[]) => [
      ...new Set(chartObjects(...values).map(({ metadata }) => String(metadata.name))),
    ];

    test('nameOverride replaces the name of the chart in every object', () => {
      const names = namesOf('nameOverride="clusters"');
      expect(names).toContain('talos-clusters');
      expect(names.filter((name) => !name.startsWith('talos-clusters'))).toEqual([]);
    });

    test('fullnameOverride replaces the whole name', () => {
      expect(namesOf('fullnameOverride="metal"').filter((name) => !/^metal(-|$)/.test(name))).toEqual([]);
    });
  });

  test('commonLabels are on every object and Pod, and replace no label of the chart', () => {
    const values = ['commonLabels={"team":"infra","app.kubernetes.io/name":"other"}', 'podLabels={"pod":"yes"}'];
    for (const { kind, metadata } of chartObjects(...values, 'replicas=2', 'networkPolicy={"enabled":true}')) {
      expect(metadata.labels, kind).toMatchObject({ team: 'infra', 'app.kubernetes.io/managed-by': 'Helm' });
      expect(metadata.labels['app.kubernetes.io/name'], kind).not.toBe('other');
    }
    const { selector, template } = deployment(...values).spec;
    expect(template.metadata.labels).toMatchObject({ team: 'infra', pod: 'yes', ...selector.matchLabels });
    expect(selector.matchLabels).not.toHaveProperty('team');
  });

  test.each([
    ['the version of the chart', '{}', /^cluster-provider-talos:\d+\.\d+\.\d+$/],
    ['a digest', `{"digest":"${digest}"}`, new RegExp(`^cluster-provider-talos@${digest}$`)],
    [
      'a digest with a tag',
      `{"tag":"1.2.3","digest":"${digest}"}`,
      new RegExp(`^cluster-provider-talos:1\\.2\\.3@${digest}$`),
    ],
  ])('the image is named by %s, the same one for every container and the test', (_title, image, expected) => {
    const objects = chartObjects(`image=${image}`);
    const { initContainers, containers } = onlyOne(objects, 'Deployment').spec.template.spec;
    const all = [...initContainers, ...containers, ...onlyOne(objects, 'Pod').spec.containers];
    expect(all).toHaveLength(3);
    for (const container of all) expect(container.image).toMatch(expected);
  });

  test('more volumes are mounted by both containers, beside those of the chart', () => {
    const { volumes, initContainers, containers } = podOf(
      'autoscaler={"enabled":true,"certificateSecret":"server"}',
      'extraVolumes=[{"name":"authorities","configMap":{"name":"ca"}}]',
      'extraVolumeMounts=[{"name":"authorities","mountPath":"/etc/ca","readOnly":true}]',
    );
    expect(volumes.map(({ name }: Rendered) => name)).toEqual(['autoscaler', 'authorities']);
    const mounted = (container: Rendered) => container.volumeMounts.map(({ name }: Rendered) => name);
    expect(mounted(initContainers[0])).toEqual(['authorities']);
    expect(mounted(containers[0])).toEqual(['autoscaler', 'authorities']);
  });

  test('security contexts are merged with the defaults', () => {
    const pod = podOf('podSecurityContext={"fsGroup":1,"runAsUser":null}', 'securityContext={"runAsUser":1000}');
    expect(pod.securityContext).toEqual({
      ...{ runAsNonRoot: true, runAsGroup: 65_532, fsGroup: 1 },
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(pod.containers[0].securityContext).toMatchObject({ runAsUser: 1000, capabilities: { drop: ['ALL'] } });
  });

  test('a constraint of the spread counts the Pods of the release, unless it selects others', () => {
    const constraint = '"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"';
    const [own, other] = podOf(
      `topologySpreadConstraints=[{${constraint}},{${constraint},"labelSelector":{"matchLabels":{"a":"b"}}}]`,
    ).topologySpreadConstraints;
    expect(own.labelSelector.matchLabels).toEqual(deployment().spec.selector.matchLabels);
    expect(other.labelSelector.matchLabels).toEqual({ a: 'b' });
  });

  test('a PodDisruptionBudget is for two replicas and more: with one it would hold up each drain', () => {
    const budgets = (...values: string[]) =>
      chartObjects(...values).filter(({ kind }) => kind === 'PodDisruptionBudget');
    expect([budgets(), budgets('replicas=2', 'podDisruptionBudget={"enabled":false}')]).toEqual([[], []]);
    const [budget] = budgets('replicas=2', 'podDisruptionBudget={"maxUnavailable":"50%"}');
    expect(budget.spec).toMatchObject({ maxUnavailable: '50%', unhealthyPodEvictionPolicy: 'AlwaysAllow' });
    expect(selects(budget.spec.selector.matchLabels, deployment().spec.template.metadata.labels)).toBe(true);
  });

  describe('the NetworkPolicy', () => {
    const policy = (...values: string[]): Rendered => onlyOne(chartObjects(...values), 'NetworkPolicy').spec;
    const on = 'networkPolicy.enabled=true';
    const ports = (rules: Rendered[]) => rules.flatMap((rule) => rule.ports.map(({ port }: Rendered) => port));

    test('exists if it is enabled', () => {
      expect(chartObjects().filter(({ kind }) => kind === 'NetworkPolicy')).toEqual([]);
    });

    test('opens exactly the ports that other Pods can be served at', () => {
      const served = [
        'autoscaler={"enabled":true,"certificateSecret":"a"}',
        'statusPage={"enabled":true,"service":true}',
      ];
      expect(ports(policy(on, ...served).ingress)).toEqual(
        podOf(...served).containers[0].ports.map(({ name }: Rendered) => name),
      );
      expect(ports(policy(on, 'metrics.enabled=false', 'statusPage.enabled=true').ingress)).toEqual(['probes']);
    });

    test('limits sources, except for those of probes', () => {
      const from = [{ namespaceSelector: { matchLabels: { team: 'monitoring' } } }];
      const { ingress } = policy(on, `networkPolicy.ingressFrom=${JSON.stringify(from)}`);
      expect(ingress.map((rule: Rendered) => rule.from)).toEqual([undefined, from]);
    });

    test('lets the program reach everything that it calls at its usual port, and what a user adds', () => {
      const { egress } = policy(on, 'networkPolicy.extraEgress=[{"ports":[{"port":8443}]}]');
      for (const port of [22, 53, 443, 6443, 50_000, 8443]) expect(ports(egress)).toContain(port);
      const names = egress.flatMap((rule: Rendered) => rule.ports).filter(({ port }: Rendered) => port === 53);
      expect(names.map(({ protocol }: Rendered) => protocol)).toEqual(['TCP', 'UDP']);
    });

    test('omits a rule whose list of ports is empty: without ports it would allow all', () => {
      const { egress } = policy(on, 'networkPolicy.egressPorts.rescueSystem=[]');
      expect(ports(egress)).not.toContain(22);
      expect(egress.filter((rule: Rendered) => !rule.ports?.length)).toEqual([]);
    });
  });

  test('helm test asks the replicas over a Service that does not select the test itself', () => {
    const objects = chartObjects();
    const test = onlyOne(objects, 'Pod');
    const service = objects.find(({ kind, metadata }) => kind === 'Service' && metadata.name === test.metadata.name);
    for (const { metadata } of [test, service]) expect(metadata.annotations['helm.sh/hook']).toBe('test');
    expect(selects(service.spec.selector, test.metadata.labels)).toBe(false);
    expect(selects(service.spec.selector, deployment().spec.template.metadata.labels)).toBe(true);
    expect(test.spec).toMatchObject({ automountServiceAccountToken: false, restartPolicy: 'Never' });
    const { probes, readinessProbe } = {
      probes: service.spec.ports[0].targetPort,
      readinessProbe: podOf().containers[0].readinessProbe.httpGet,
    };
    expect(probes).toBe(readinessProbe.port);
    expect(test.spec.containers[0].args[0]).toContain(`:8081${readinessProbe.path}`);
  });

  test.each([
    ['a digest without its algorithm', 'image={"digest":"0a0a"}', /digest/],
    ['a port of a NetworkPolicy that cannot exist', 'networkPolicy.egressPorts.talos=[70000]', /talos/],
    ['an unknown purpose of a port', 'networkPolicy.egressPorts.nas=[443]', /nas/],
    ['a budget that allows no eviction', 'podDisruptionBudget={"maxUnavailable":0}', /maxUnavailable/],
    ['a name with capital letters', 'fullnameOverride="Talos"', /fullnameOverride/],
    ['a volume without a name', 'extraVolumes=[{"emptyDir":{}}]', /extraVolumes/],
  ])('rejects %s, and names the value', (_title, value, expected) => {
    const { text, refused } = renderChart(value);
    expect(refused).toBe(true);
    expect(text).toMatch(expected);
  });
});
