//! tmp
fn main(){
    let f=std::env::args().nth(1).unwrap();
    let s=segue_sim::scenario::load(&f,&|n|std::fs::read_to_string(n).map_err(|e|e.to_string()),&[]);
    match s { Err(e)=>{eprintln!("{e}");std::process::exit(2)}
     Ok(s)=>{let r=segue_sim::run(&s,s.seed); print!("{}",r.flow_table().csv()); print!("{}", r.link_table(&s).csv()); eprintln!("events {}",r.events);
      if std::env::args().nth(2).is_some(){ let mut t=segue_sim::results::CsvTrace::new(&s,std::io::stdout()); segue_sim::run_observed(&s,s.seed,&mut t); t.finish().unwrap(); }
     } }
}
