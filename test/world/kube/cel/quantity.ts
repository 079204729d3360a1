const decimal: Readonly<Record<string, bigint>> = {
  n: 1n,
  u: 1_000n,
  m: 1_000_000n,
  '': 1_000_000_000n,
  k: 10n ** 12n,
  M: 10n ** 15n,
  G: 10n ** 18n,
  T: 10n ** 21n,
  P: 10n ** 24n,
  E: 10n ** 27n,
};
const binary = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const form = /^([+-]?)(\d+\.?\d*|\.\d+)(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)$/;
const one = 1_000_000_000n;

/** A Kubernetes quantity (`1500m`, `2Gi`), stored exactly in units of 10⁻⁹. */
export class CelQuantity {
  readonly nano: bigint;

  constructor(nano: bigint) {
    this.nano = nano;
  }

  /** Undefined for an invalid text. */
  static parse(text: string): CelQuantity | undefined {
    const found = form.exec(text);
    if (!found) return undefined;
    const [, sign, number = '0', exponent, suffix = ''] = found;
    const [whole = '0', fraction = ''] = number.split('.');
    let nano = BigInt(whole + fraction.padEnd(9, '0').slice(0, 9)) * 1n;
    const power = exponent ? Number(exponent.slice(1)) : 0;
    const index = binary.indexOf(suffix);
    if (index >= 0) nano *= 1024n ** BigInt(index + 1);
    else nano = (nano * (decimal[suffix] ?? one)) / one;
    nano = power >= 0 ? nano * 10n ** BigInt(power) : nano / 10n ** BigInt(-power);
    return new CelQuantity(sign === '-' ? -nano : nano);
  }

  compare(other: CelQuantity): bigint {
    return this.nano === other.nano ? 0n : this.nano < other.nano ? -1n : 1n;
  }

  get isInteger(): boolean {
    return this.nano % one === 0n;
  }

  get integer(): bigint {
    return this.nano / one;
  }

  get float(): number {
    return Number(this.nano) / 1e9;
  }
}
