type Arguments = Readonly<Record<string, readonly string[]>>;

/** Flags of Kubernetes components that take a whole number. */
const numberFlags = ['event-burst', 'event-qps', 'kube-api-burst', 'kube-api-qps', 'max-pods', 'pods-per-core', 'v'];

/**
 * Why a component ends as soon as it is started, in its own words; undefined if it runs. Only numbers and the form of
 * feature gates are checked: which flags and gates there are differs by version.
 */
export function findSettingProblem(args: Arguments): string | undefined {
  for (const [flag, values] of Object.entries(args)) {
    const value = values.at(-1) ?? '';
    if (numberFlags.includes(flag) && !/^-?\d+$/.test(value))
      return `Error: invalid argument "${value}" for "--${flag}" flag: strconv.ParseInt: parsing "${value}": invalid syntax`;
    const gate = flag === 'feature-gates' ? value.split(',').find((one) => !/^\w+=(true|false)$/.test(one)) : undefined;
    if (gate !== undefined)
      return `Error: invalid argument "${value}" for "--${flag}" flag: missing bool value for ${gate}`;
  }
  return undefined;
}
