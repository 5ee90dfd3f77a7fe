/** An operator's command that cannot be carried out: what is wrong, and one thing to do about it. The exit code is "usage". */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly exitCode = 2;
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}
